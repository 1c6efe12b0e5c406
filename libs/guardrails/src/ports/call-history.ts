/** Whose calls: histories are kept per run, whichever agent a question names. */
export interface CalledRun {
  readonly tenantId: string;
  readonly runId: string;
}

/** A tool call about to be made. */
export interface EnteredCall {
  /** The same for a repeated question about the same call, and for no other call that is open at the time. */
  readonly callKey: string;
  /** The client's own id; several calls may go by one. */
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
 * A call as the history holds it. `asked`: put down, not answered yet; `allowed`: it may have happened; `completed`:
 * its result was reported. Refused calls are not in it.
 */
export interface PastCall extends EnteredCall {
  readonly status: 'asked' | 'allowed' | 'completed';
  readonly resultHash?: string;
  readonly durationMs?: number;
}

/**
 * The tool calls of each run, oldest first, at most the newest 1,000, kept for 7 days after the last. Every method is
 * one atomic step and idempotent per call key, so that calls asked about at once see one another and a retried question
 * is counted once.
 */
export interface CallHistory {
  /**
   * Puts the call down as asked, unless it is there and has not ended: the same key after the end is another call.
   * Answers the other calls of the run that came before it.
   */
  enter(run: CalledRun, call: EnteredCall): Promise<readonly PastCall[]>;
  /** Says what became of an entered call: it went ahead, or it is taken out again. */
  settle(run: CalledRun, callKey: string, outcome: 'allowed' | 'refused'): Promise<void>;
  /**
   * Notes the result of a call: the one of this key, else the oldest open one of this call id (its arguments may have
   * been changed), else one that was never asked about, which is entered. Answers the other calls of the run.
   */
  complete(run: CalledRun, call: CompletedCall): Promise<readonly PastCall[]>;
  read(run: CalledRun): Promise<readonly PastCall[]>;
}
