/** Whose calls: histories are kept per run. */
export interface CalledRun {
  readonly tenantId: string;
  readonly agentId: string;
  readonly runId: string;
}

/** A tool call about to be made. */
export interface EnteredCall {
  /** The client's call id, or what else makes a repeated question about the same call recognisable. */
  readonly callKey: string;
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
  /** Puts the call down as asked, unless it is there; answers the other calls of the run that came before it. */
  enter(run: CalledRun, call: EnteredCall): Promise<readonly PastCall[]>;
  /** Says what became of an entered call: it went ahead, or it is taken out again. */
  settle(run: CalledRun, callKey: string, outcome: 'allowed' | 'refused'): Promise<void>;
  /** Notes the result of a call, entering it where it was never asked about; answers the other calls of the run. */
  complete(run: CalledRun, call: CompletedCall): Promise<readonly PastCall[]>;
  read(run: CalledRun): Promise<readonly PastCall[]>;
}
