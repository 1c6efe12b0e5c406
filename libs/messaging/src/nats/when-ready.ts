import { JetStreamApiError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { type BusLogger, BusUnavailable } from '../event-bus.ts';
import { retry } from '../util/retry.ts';

/** A lost leader is replaced 4 to 9 s after its last sign, a first one is found no sooner. */
export const READY_WITHIN_MS = 30_000;
const COME_BACK_MS = 250;
/** Cluster incomplete, no suitable peers, not assigned, JetStream temporarily unavailable, not leader. */
const NOT_READY = new Set([10_004, 10_005, 10_007, 10_008, 10_009]);

/**
 * Does again what a cluster cannot do yet: servers that were just started take seconds to agree on a leader, in which
 * they do not answer or say that they cannot.
 * @throws BusUnavailable where that lasts longer than `forMs`; any other error as it is
 */
export async function whenReady(work: () => Promise<void>, forMs: number, logger: BusLogger): Promise<void> {
  const onFirstFailure = (error: unknown) => logger.warn({ err: error }, 'JetStream is not ready yet, trying again');
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
  const why = cause instanceof TimeoutError ? 'it does not answer' : String(cause);
  return new BusUnavailable(
    `NATS answers but its JetStream does not work (${why}): in a cluster, see that most of its servers run and reach each other`,
    COME_BACK_MS,
    { cause },
  );
}
