import type { ErrorInfo } from '../core/agent-error.ts';
import type { Json } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { ModelResponse } from '../llm/llm-client.ts';
import type { RunLimits } from '../runtime/capacity.ts';

export interface GuardedRunStart {
  readonly sessionId: string;
  readonly agentType: string;
  readonly runId?: string;
  readonly parentRunId?: string;
  readonly parentToolUseId?: string;
  readonly model?: string;
  readonly limits?: Partial<RunLimits>;
}

export interface ModelQuestion {
  readonly callId: string;
  readonly messages: readonly Message[];
  readonly estimatedTokens: number;
}

export interface ModelOutcome {
  readonly callId: string;
  readonly model: string;
  readonly provider?: string;
  readonly durationMs: number;
  readonly response?: ModelResponse;
  readonly error?: ErrorInfo;
}

export interface ToolQuestion {
  readonly toolUseId: string;
  readonly name: string;
  readonly category: string;
  readonly input: Json;
  /** Ends the wait for a human. */
  readonly signal: AbortSignal;
}

export interface ToolCallOutcome {
  readonly toolUseId: string;
  readonly name: string;
  readonly category: string;
  readonly input: Json;
  readonly output: Json;
  readonly durationMs: number;
  readonly failed: boolean;
}

export type GuardVerdict =
  | { readonly verdict: 'allow' | 'change'; readonly input: Json; readonly reason: string; readonly ruleId?: string }
  | {
      readonly verdict: 'block';
      readonly terminate: boolean;
      readonly reason: string;
      readonly ruleId?: string;
      /** A limit of the run, not a rule. */
      readonly limit?: true;
    };

export type RunEnd = 'success' | 'error' | 'timeout' | 'interrupted';

/** One guarded run. */
export interface GuardedRun {
  readonly id: string;
  /** Aborted when the run must stop immediately. */
  readonly signal: AbortSignal;
  /** Model set by an operator. */
  readonly modelOverride: string | null;
  /** Returns the messages to send. @throws AgentError `run_ended`, `limit_reached` */
  beforeModel(question: ModelQuestion): Promise<readonly Message[]>;
  afterModel(outcome: ModelOutcome): Promise<void>;
  beforeTool(question: ToolQuestion): Promise<GuardVerdict>;
  /** `block`: the output must not be used. */
  afterTool(outcome: ToolCallOutcome): Promise<GuardVerdict>;
  record(kind: string, data: Readonly<Record<string, unknown>>): void;
  /** Runs `body` in this run, so that nested code finds it. */
  within<T>(body: () => Promise<T>): Promise<T>;
  end(status: RunEnd): Promise<void>;
}

/** Guards runs, in this process alone or with the platform. */
export interface RunGuard {
  begin(start: GuardedRunStart): Promise<GuardedRun>;
}
