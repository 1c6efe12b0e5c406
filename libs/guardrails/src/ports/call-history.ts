/** Whose calls a history holds, besides those of a run. */
export const WIDER_SCOPES = ['tree', 'session', 'agent', 'tenant'] as const;
export type WiderScope = (typeof WIDER_SCOPES)[number];

/** Key of a history: one per run, regardless of the agent that a request names. */
export interface CalledRun {
  readonly tenantId: string;
  readonly runId: string;
}

/** Key of the history of many runs. */
export interface CalledScope {
  readonly tenantId: string;
  readonly scope: WiderScope;
  /** The topmost run of the tree, the session or the agent; empty for the tenant. */
  readonly scopeId: string;
}

/** A tool call about to be made. */
export interface EnteredCall {
  /** The same for every retry about this call, and different from any other open call. */
  readonly callKey: string;
  /** The client's own id; several calls may share one. */
  readonly callId?: string;
  readonly toolName: string;
  readonly toolTags: readonly string[];
  /** SHA-256 (hex) of the canonical arguments. */
  readonly argsHash: string;
  readonly atMs: number;
}

export interface CompletedCall extends EnteredCall {
  /** SHA-256 (hex) of the canonical result. */
  readonly resultHash: string;
  readonly durationMs?: number;
}

/**
 * A call in the history. `asked`: entered, not decided yet; `allowed`: it may have happened; `completed`: its result
 * was reported. Rejected calls are removed.
 */
export interface PastCall extends EnteredCall {
  readonly status: 'asked' | 'allowed' | 'completed';
  readonly resultHash?: string;
  readonly durationMs?: number;
}

/**
 * The tool calls of each run or wider scope, oldest first: at most the newest 1,000, kept for 7 days after the last. Every method is
 * atomic and idempotent per call key, so that concurrent calls see each other and a retry is counted once.
 */
export interface CallHistory {
  /**
   * Enters the call as asked, unless an open call has this key; the same key after completion is another call. Returns
   * the calls that came before it.
   */
  enter(of: CalledRun | CalledScope, call: EnteredCall): Promise<readonly PastCall[]>;
  /** Records that an entered call was allowed, or removes it. */
  settle(of: CalledRun | CalledScope, callKey: string, outcome: 'allowed' | 'refused'): Promise<void>;
  /**
   * Records the result of a call: the open one with this key, else the oldest open one with this call id (its arguments
   * may have changed), else a new entry. Returns the other calls.
   */
  complete(of: CalledRun | CalledScope, call: CompletedCall): Promise<readonly PastCall[]>;
  read(of: CalledRun | CalledScope): Promise<readonly PastCall[]>;
}
