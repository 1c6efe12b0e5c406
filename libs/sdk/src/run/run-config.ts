import type { Actor, ModelInfo, Subject } from '../wire/model.ts';

/** The adapter that makes the run's calls, and its framework. */
export interface AdapterInfo {
  readonly name: string;
  readonly version?: string;
  readonly framework?: string;
  readonly frameworkVersion?: string;
}

export interface RunConfig {
  /** Default: a new time-ordered UUID. Starting a live id again returns the same run. */
  readonly runId?: string;
  /** Groups runs, such as the turns of one conversation. */
  readonly sessionId?: string;
  /** The user the run acts for; its metadata are the end-user tags that rules read. */
  readonly actor?: Actor;
  readonly model?: ModelInfo;
  readonly tags?: Readonly<Record<string, string>>;
  /** After this time the run ends as timed out, and every later call is refused. */
  readonly runTtlMs?: number;
  readonly parentRunId?: string;
  /** The parent's tool call that started this run. */
  readonly parentToolUseId?: string;
  /** Default: the client's. */
  readonly enforceMode?: 'enforce' | 'shadow' | 'off';
  /** Recorded with the start of the run. Default: this SDK. */
  readonly adapter?: AdapterInfo;
}

export interface ToolCallOptions {
  /** The framework's id of the call. Default: a new id, kept until the result. */
  readonly callId?: string;
  readonly tags?: readonly string[];
  readonly subjects?: readonly Subject[];
  /** Further metrics of this call, by key. */
  readonly metrics?: Readonly<Record<string, number>>;
}

export interface LlmCallOptions {
  /** `full` (default): the whole history is passed at each step. `delta`: only new messages. */
  readonly history?: 'full' | 'delta';
  /** Expected usage of the call; reserved from budgets until `afterLlm`. Absent members count as 0. */
  readonly estimate?: { readonly tokens?: number | undefined; readonly costUsd?: number | undefined };
  /** Distinguishes concurrent model calls of one run; pass the same id to `afterLlm`. Default: a new id. */
  readonly callId?: string;
}

export interface ApprovalWait {
  /** Longest wait for a human, in ms. Default 15 minutes. */
  readonly timeoutMs?: number;
  /** Poll interval if no message arrives, in ms. Default 2000. */
  readonly pollMs?: number;
  /** Ends the wait; the call is then still pending. */
  readonly signal?: AbortSignal;
}
