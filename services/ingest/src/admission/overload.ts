import type { ConsumerLag } from '@agentlens/messaging';

/**
 * Behind by this much, evaluation would be late for the tenants that are not the cause. Not less than the time it takes
 * to tell an outage from overload, or the first second of an outage would turn clients away.
 */
const BEHIND_MS = 1_000;
/** A consumer whose backlog ages as fast as time passes does nothing at all: shedding would not help it. */
const STALLED_GROWTH = 0.95;
/** Growth is judged over this long; single readings jump by a batch. */
const JUDGED_OVER_MS = 1_000;

/** What is looked at of how far evaluation is behind. */
export type EvaluationLag = Pick<ConsumerLag, 'pending' | 'oldestAgeMs' | 'backlogAgeMs'>;

interface Reading {
  readonly atMs: number;
  readonly lag: EvaluationLag;
}

/**
 * Tells overload from outage by the age of the backlog: how long ago as many messages came as are not settled. Overload:
 * it is old, and messages are being settled.
 *
 * Outage (Redis away, no evaluator running): it ages with the clock; then the stream keeps what comes, for days, and
 * turning clients away would lose what waiting saves. Nor is it overload where everything is handed out and the oldest
 * message ages with the clock while others are settled: somebody who is gone holds it, and it comes back in its time,
 * however little is let in.
 */
export class Overload {
  #readings: Reading[] = [];

  read(lag: EvaluationLag, nowMs: number): boolean {
    this.#readings.push({ atMs: nowMs, lag });
    // Keeps one reading from before the judged span to measure the growth from.
    while (this.#readings.length > 2 && nowMs - (this.#readings[1]?.atMs ?? nowMs) >= JUDGED_OVER_MS) {
      this.#readings.shift();
    }
    if (lag.backlogAgeMs <= BEHIND_MS || this.#agesWithTheClock('backlogAgeMs')) return false;
    return lag.pending > 0 || !this.#agesWithTheClock('oldestAgeMs');
  }

  #agesWithTheClock(age: 'backlogAgeMs' | 'oldestAgeMs'): boolean {
    const [first, last] = [this.#readings[0], this.#readings.at(-1)];
    if (first === undefined || last === undefined) return false;
    const passedMs = last.atMs - first.atMs;
    return passedMs >= JUDGED_OVER_MS && last.lag[age] - first.lag[age] >= passedMs * STALLED_GROWTH;
  }
}
