import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

export const EVENT_KINDS = [
  'run.started',
  'run.ended',
  'llm.called',
  'llm.completed',
  'tool.called',
  'tool.decided',
  'tool.completed',
  'message.created',
  'error.raised',
  'cost.recorded',
  'approval.requested',
  'approval.decided',
  'custom.recorded',
  'agent.registered',
] as const;
export const EventKind = z.enum(EVENT_KINDS);
export type EventKind = z.infer<typeof EventKind>;

export const SEVERITIES = ['debug', 'info', 'warn', 'error', 'critical'] as const;
export const Severity = z.enum(SEVERITIES);
export type Severity = z.infer<typeof Severity>;

export const JsonObject = z.record(z.string(), z.unknown());
export type JsonObject = z.infer<typeof JsonObject>;

/**
 * How the cost of an event is known: as the client sent it, from the price table, or not at all.
 * `unpriced` means tokens were used but no price is known: it is shown, never counted as zero in silence.
 */
export const CostSource = z.enum(['reported', 'priced', 'unpriced']);
export type CostSource = z.infer<typeof CostSource>;

/** Quantities lifted out of the payload at the edge. Tokens are counts, cost is USD, latency milliseconds. */
export const Usage = z.object({
  inputTokens: z.number().nonnegative().optional(),
  outputTokens: z.number().nonnegative().optional(),
  totalTokens: z.number().nonnegative().optional(),
  cacheReadTokens: z.number().nonnegative().optional(),
  cacheWriteTokens: z.number().nonnegative().optional(),
  costUsd: z.number().nonnegative().optional(),
  costSource: CostSource.optional(),
  latencyMs: z.number().nonnegative().optional(),
});
export type Usage = z.infer<typeof Usage>;

/** How a run ended, where the event says so (`run.ended`). */
export const RunOutcome = z.enum(['succeeded', 'failed', 'timed_out', 'cancelled', 'interrupted']);
export type RunOutcome = z.infer<typeof RunOutcome>;

/**
 * One immutable fact reported by an agent, in the platform's own words. Made only by the ingest gateway, from one of
 * the dialects; the client's own event type stays in `sourceType` and its payload in `payload`.
 */
export const AgentEvent = z.object({
  id: ClientId,
  agentId: ClientId,
  /** One execution. For AgentLens clients this is their session id. */
  runId: ClientId,
  /** Groups runs; absent where the dialect knows no such thing. */
  sessionId: ClientId.optional(),
  parentRunId: ClientId.optional(),
  parentToolUseId: ClientId.optional(),
  kind: EventKind,
  /** `agentlens`, `handlebar` or `otlp`: the vocabulary `sourceType` belongs to. */
  dialect: z.string(),
  sourceType: z.string(),
  severity: Severity,
  /** True for an event that counts, once, as an error: severity error or critical, a failed tool, or `error.raised`. */
  isError: z.boolean(),
  /** When it happened, by the client's clock, or derived from the event id; equal on every retry. */
  occurredAt: Instant,
  /** True where the id comes from the client (or its idempotency key), so a retry in another batch is recognised. */
  retryable: z.boolean(),
  /** SHA-256 (hex) over the canonical form documented in docs/wire-format.md. */
  hash: z.string(),
  /** On whose behalf, where every event of the dialect can say so; elsewhere a run's start says it, in its payload. */
  actorId: ClientId.optional(),
  agentName: z.string().optional(),
  agentVersion: z.string().optional(),
  toolName: z.string().optional(),
  callId: z.string().optional(),
  model: z.string().optional(),
  provider: z.string().optional(),
  outcome: RunOutcome.optional(),
  usage: Usage.optional(),
  tags: z.array(z.string()).optional(),
  payload: JsonObject,
  metadata: JsonObject,
});
export type AgentEvent = z.infer<typeof AgentEvent>;

/**
 * The unit on the wire: events of one tenant, in the order they were accepted.
 * `receivedAt` is the platform's clock at acceptance and the "now" of every window these events are evaluated in, so
 * that a redelivered batch is evaluated at the same instant.
 */
export const EventBatch = z.object({
  id: z.string().min(1),
  tenantId: TenantId,
  partition: z.string().regex(/^\d\d$/),
  receivedAt: Instant,
  events: z.array(AgentEvent).min(1),
});
export type EventBatch = z.infer<typeof EventBatch>;
