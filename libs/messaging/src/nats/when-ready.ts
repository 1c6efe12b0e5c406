import { JetStreamApiError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { type BusLogger, BusUnavailable } from '../event-bus.ts';
import { retry } from '../util/retry.ts';

/** A cluster replaces a lost leader in 4 to 9 s and takes at least as long for the first one. */
export const READY_WITHIN_MS = 30_000;
const COME_BACK_MS = 250;
/** Cluster incomplete, no suitable peers, not assigned, JetStream temporarily unavailable, not leader. */
const NOT_READY = new Set([10_004, 10_005, 10_007, 10_008, 10_009]);

/**
 * Retries work while JetStream is not ready. Servers that have just started take seconds to elect a leader; until then
 * they do not answer or report an error.
 * @throws BusUnavailable if that takes longer than `forMs`; other errors are rethrown
 */
export async function whenReady(work: () => Promise<void>, forMs: number, logger: BusLogger): Promise<void> {
  const onFirstFailure = (error: unknown) => logger.warn({ err: error }, 'JetStream is not ready yet, retrying');
  try {
    await retry({ isTransient: isNotReady, forMs, onFirstFailure }, work);
  } catch (error) {
    throw isNotReady(error) ? notReady(error) : error;
  }
}

function isNotReady(error: unknown): boolean {
  return error instanceof TimeoutError || (error instanceof JetStreamApiError && NOT_READY.has(error.code));
}

function notReady(cause: unknown): BusUnavailable {
  const why = cause instanceof TimeoutError ? 'no answer' : String(cause);
  return new BusUnavailable(
    `NATS is connected but JetStream does not work (${why}). In a cluster, check that a majority of servers is running and connected.`,
    COME_BACK_MS,
    { cause },
  );
}
