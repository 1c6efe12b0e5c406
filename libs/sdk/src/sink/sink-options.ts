/** How events are queued and sent. */
export interface SinkOptions {
  /** Maximum number of waiting events; the oldest are dropped. */
  readonly maxQueue: number;
  readonly batchSize: number;
  readonly flushMs: number;
  /** Attempts per batch before it is counted as dropped. */
  readonly attempts: number;
  readonly backoffBaseMs: number;
  readonly backoffMostMs: number;
  /** Timeout of one attempt, in ms. */
  readonly sendTimeoutMs: number;
  /** Maximum number of batches in flight. */
  readonly maxInFlight: number;
}

export const SINK_DEFAULTS: SinkOptions = {
  maxQueue: 2_000,
  batchSize: 50,
  flushMs: 1_000,
  attempts: 8,
  backoffBaseMs: 500,
  backoffMostMs: 10_000,
  sendTimeoutMs: 5_000,
  maxInFlight: 2,
};
