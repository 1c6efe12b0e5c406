import type { Actor, ModelInfo, Subject } from '../wire/model.ts';

/** Which adapter makes the run's calls, and of which framework. */
export interface AdapterInfo {
  readonly name: string;
  readonly version?: string;
  readonly framework?: string;
  readonly frameworkVersion?: string;
}

export interface RunConfig {
  /** A time-ordered UUID is made where it is absent. Starting a live id again answers the same run. */
  readonly runId?: string;
  /** Groups runs, such as the turns of one conversation. */
  readonly sessionId?: string;
  /** On whose behalf the run acts; its metadata are the end-user tags that rules read. */
  readonly actor?: Actor;
  readonly model?: ModelInfo;
  readonly tags?: Readonly<Record<string, string>>;
  /** The run is ended as timed out after so long, and every later call of it is refused. */
  readonly runTtlMs?: number;
  readonly parentRunId?: string;
  /** The call of the parent's tool that this run is. */
  readonly parentToolUseId?: string;
  /** Default: the client's. */
  readonly enforceMode?: 'enforce' | 'shadow' | 'off';
  /** Recorded with the start of the run. Default: this SDK. */
  readonly adapter?: AdapterInfo;
}

export interface ToolCallOptions {
  /** The framework's id of the call; one is made, and kept until the result, where it is absent. */
  readonly callId?: string;
  readonly tags?: readonly string[];
  readonly subjects?: readonly Subject[];
  /** Further metrics of this call, by key. */
  readonly metrics?: Readonly<Record<string, number>>;
}

export interface LlmCallOptions {
  /** `full` (default): the whole history is handed over at each step. `delta`: only what is new. */
  readonly history?: 'full' | 'delta';
  /** What the call will probably use; set aside from budgets until `afterLlm`. What is absent counts as 0. */
  readonly estimate?: { readonly tokens?: number | undefined; readonly costUsd?: number | undefined };
  /** Tells model calls of one run apart that go on at once; give the same to `afterLlm`. Made where it is absent. */
  readonly callId?: string;
}

export interface ApprovalWait {
  /** Longest wait for a human, ms. Default 15 minutes. */
  readonly timeoutMs?: number;
  /** Between questions where no message arrives by itself, ms. Default 2000. */
  readonly pollMs?: number;
  /** Ends the waiting; the call is then still pending. */
  readonly signal?: AbortSignal;
}
