import { closest, distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import type { EventKind, JsonObject } from '../../events.ts';
import type { Field } from './payload-schema.ts';
import {
  AlertResolved,
  AlertTriggered,
  ApprovalDecided,
  ApprovalRequested,
  ChainStep,
  CostTracked,
  Custom,
  Embedding,
  FormCompleted,
  FormExpired,
  FormSubmitted,
  LlmCall,
  LlmResponse,
  Retrieval,
  SessionEnded,
  SessionStarted,
  ToolCall,
  ToolError,
  ToolResponse,
} from './payloads.ts';

interface EventType {
  readonly kind: EventKind;
  readonly payload: Field<z.ZodType<JsonObject>>;
}

/** The AgentLens vocabulary: every type a client may send, with the platform's kind and its payload schema. */
export const EVENT_TYPES = {
  session_started: { kind: 'run.started', payload: SessionStarted },
  session_ended: { kind: 'run.ended', payload: SessionEnded },
  tool_call: { kind: 'tool.called', payload: ToolCall },
  tool_response: { kind: 'tool.completed', payload: ToolResponse },
  tool_error: { kind: 'tool.completed', payload: ToolError },
  llm_call: { kind: 'llm.called', payload: LlmCall },
  llm_response: { kind: 'llm.completed', payload: LlmResponse },
  cost_tracked: { kind: 'cost.recorded', payload: CostTracked },
  approval_requested: { kind: 'approval.requested', payload: ApprovalRequested },
  approval_granted: { kind: 'approval.decided', payload: ApprovalDecided },
  approval_denied: { kind: 'approval.decided', payload: ApprovalDecided },
  approval_expired: { kind: 'approval.decided', payload: ApprovalDecided },
  form_submitted: { kind: 'custom.recorded', payload: FormSubmitted },
  form_completed: { kind: 'custom.recorded', payload: FormCompleted },
  form_expired: { kind: 'custom.recorded', payload: FormExpired },
  alert_triggered: { kind: 'custom.recorded', payload: AlertTriggered },
  alert_resolved: { kind: 'custom.recorded', payload: AlertResolved },
  retrieval: { kind: 'custom.recorded', payload: Retrieval },
  embedding: { kind: 'custom.recorded', payload: Embedding },
  chain_step: { kind: 'custom.recorded', payload: ChainStep },
  custom: { kind: 'custom.recorded', payload: Custom },
} as const satisfies Record<string, EventType>;
export type EventTypeName = keyof typeof EVENT_TYPES;

export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as readonly EventTypeName[];

/** Types that only a server creates. A client that could send them could forge evidence. */
export const SERVER_ONLY_TYPES: readonly string[] = [
  'error',
  'eval_result',
  'human_score',
  'feedback',
  'skill_activated',
];

export function isEventType(name: unknown): name is EventTypeName {
  return typeof name === 'string' && Object.hasOwn(EVENT_TYPES, name);
}

/** Maximum edit distance of a suggestion. */
const NEAR = 6;

/** Explains why a type is rejected and what to send instead. */
export function refusedTypeMessage(name: unknown): string {
  if (typeof name !== 'string' || name === '') return `must be one of ${EVENT_TYPE_NAMES.join(', ')}`;
  if (SERVER_ONLY_TYPES.includes(name)) {
    return `"${name}" is made by the server and cannot be sent; report it as "custom", or a failed tool as "tool_error"`;
  }
  const shown = name.length > 64 ? `${name.slice(0, 64).toWellFormed()}…` : name;
  const nearest = name.length > 64 ? undefined : closest(name, EVENT_TYPE_NAMES);
  if (nearest !== undefined && distance(name, nearest) <= NEAR) {
    return `"${shown}" is not an event type; did you mean "${nearest}"?`;
  }
  return `"${shown}" is not an event type; use "custom" for your own, or one of ${EVENT_TYPE_NAMES.join(', ')}`;
}
