import type { AgentContext } from '../core/agent-context.ts';
import type { Json } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { Effects } from '../effects/effects.ts';
import type { CallOptions, LLMClient } from '../llm/llm-client.ts';
import type { DatabaseClient } from '../memory/database-client.ts';
import type { MemoryClient } from '../memory/memory-client.ts';
import type { ActionResult, ToolCall, ToolDefinition } from '../tools/tool.ts';

export interface PlannedCall {
  /** Default: a new id. */
  readonly toolUseId?: string;
  readonly toolId: string;
  readonly input: Json;
  /** The model's text if it was not valid JSON. */
  readonly malformed?: string;
}

/** The next step. `toolId` and `input` are the short form of a single call. */
export type PlanStep =
  | {
      readonly type: 'tool';
      readonly calls?: readonly PlannedCall[];
      readonly toolId?: string;
      readonly input?: Json;
      readonly reason?: string;
      readonly assistant?: Message;
    }
  /** `message` is added to the conversation; `internal` is a note for the scratchpad. Both count as a step. */
  | { readonly type: 'message' | 'internal'; readonly message: string; readonly assistant?: Message }
  | { readonly type: 'finish'; readonly result?: Json; readonly message?: string; readonly assistant?: Message };

/**
 * State of a run that a planner sees. Clock, ids and randomness are in `effects`; a planner that uses others cannot be
 * replayed.
 */
export interface PlannerState {
  readonly task: string;
  readonly step: number;
  readonly messages: readonly Message[];
  readonly lastActions: readonly ActionResult[];
  readonly scratchpad: readonly string[];
  readonly tools: readonly ToolDefinition[];
  /** Guarded and recorded; null for an agent without providers. */
  readonly model: LLMClient | null;
  readonly callOptions: CallOptions;
  readonly memory?: MemoryClient;
  readonly database?: DatabaseClient;
  readonly effects: Effects;
  readonly signal: AbortSignal;
}

export interface StepOutcome {
  readonly plan: PlanStep;
  readonly actions: readonly ActionResult[];
}

export interface Planner {
  plan(state: PlannerState): Promise<PlanStep>;
}

export interface Reflection {
  readonly next: 'plan' | 'finish' | 'abort';
  readonly result?: Json;
  readonly note?: string;
}

export interface Reflector {
  reflect(state: PlannerState, outcome: StepOutcome): Promise<Reflection>;
}

export interface ExecutionContext {
  readonly sessionId: string;
  readonly runId: string;
  readonly step: number;
  readonly context: AgentContext;
  readonly effects: Effects;
  readonly signal: AbortSignal;
}

/** Executes one call. The default is the complete tool pipeline; a replacement takes over its duties. */
export interface ToolExecutor {
  execute(call: ToolCall, context: ExecutionContext): Promise<ActionResult>;
}
