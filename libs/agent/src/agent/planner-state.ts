import type { AgentContext } from '../core/agent-context.ts';
import type { Json } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { Effects } from '../effects/effects.ts';
import type { CallOptions, LLMClient } from '../llm/llm-client.ts';
import type { DatabaseClient } from '../memory/database-client.ts';
import type { MemoryClient } from '../memory/memory-client.ts';
import type { ActionResult, ToolCall } from '../tools/action-result.ts';
import type { ToolDefinition } from '../tools/tool.ts';

export interface PlannedCall {
  /** Made where it is absent. */
  readonly toolUseId?: string;
  readonly toolId: string;
  readonly input: Json;
  /** What the model wrote instead of JSON. */
  readonly malformed?: string;
}

/** What to do next. `toolId` and `input` are the short form of one call. */
export type PlanStep =
  | {
      readonly type: 'tool';
      readonly calls?: readonly PlannedCall[];
      readonly toolId?: string;
      readonly input?: Json;
      readonly reason?: string;
      readonly assistant?: Message;
    }
  /** `message` is said in the conversation; `internal` is a note for the scratchpad. Both count as a step. */
  | { readonly type: 'message' | 'internal'; readonly message: string; readonly assistant?: Message }
  | { readonly type: 'finish'; readonly result?: Json; readonly message?: string; readonly assistant?: Message };

/** What a planner sees of a run. Clock, ids and chance are in `effects`; a planner that takes others cannot be replayed. */
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

/** Carries out one call. The default is the whole way of a tool call; another one takes its duties too. */
export interface ToolExecutor {
  execute(call: ToolCall, context: ExecutionContext): Promise<ActionResult>;
}
