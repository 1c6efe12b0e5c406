/** How events are kept and sent. */
export interface SinkOptions {
  /** Events waiting to be sent; the oldest make room. */
  readonly maxQueue: number;
  readonly batchSize: number;
  readonly flushMs: number;
  /** Tries of one batch before it is given up and counted as dropped. */
  readonly attempts: number;
  readonly backoffBaseMs: number;
  readonly backoffMostMs: number;
  /** How long one try may take. */
  readonly sendTimeoutMs: number;
  /** Batches on their way at once. */
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
