import type { ConsumerLag } from '@agentlens/messaging';

/**
 * Lag beyond which evaluation would be late for the tenants that do not cause it. Not shorter than the time it takes to
 * distinguish an outage from overload, otherwise the first second of an outage would reject clients.
 */
const BEHIND_MS = 1_000;
/** If the age grows by more than this share of the elapsed time, it grows with the clock. */
const WITH_THE_CLOCK = 0.95;
/** If the backlog shrinks by this share of what is handled, evaluation is catching up. */
const WORKED_OFF = 0.1;
/** Growth is judged over this period, because single readings jump by a batch. */
const JUDGED_OVER_MS = 1_000;

/**
 * State of evaluation.
 *
 * - `calm`: the lag is small.
 * - `stalled`: nothing is settled (Redis is unavailable or no evaluator runs). The stream keeps events for days, and
 *   rejecting clients would lose what waiting saves.
 * - `held`: a consumer that is gone holds a few messages, which will be redelivered regardless of the admission rate;
 *   all others are settled as they arrive.
 * - `catching up`: evaluation is behind and settles more than arrives, for example after a stall.
 * - `overloaded`: evaluation is behind and does not catch up by itself.
 */
export type LagState = 'calm' | 'stalled' | 'held' | 'catching up' | 'overloaded';

/** The part of the consumer lag that is used. */
export type EvaluationLag = Pick<ConsumerLag, 'pending' | 'oldestAgeMs' | 'backlogAgeMs'>;

export interface LagReading {
  readonly atMs: number;
  readonly lag: EvaluationLag;
  /** Number of events admitted so far. */
  readonly admitted: number;
  /** The number of those that are settled, as far as the lag shows. */
  readonly handled: number;
}

/** Derives the state of evaluation from how its lag moved within the last second. */
export class LagDetector {
  #readings: LagReading[] = [];
  #awayAtMs = Number.NEGATIVE_INFINITY;

  read(reading: LagReading): LagState {
    this.#readings.push(reading);
    // Keeps one reading from before the period to measure the growth from.
    while (this.#readings.length > 2 && reading.atMs - (this.#readings[1]?.atMs ?? 0) >= JUDGED_OVER_MS) {
      this.#readings.shift();
    }
    const first = this.#readings[0] ?? reading;
    if (agesWithTheClock('backlogAgeMs', first, reading)) return this.#away('stalled', reading);
    if (reading.lag.pending === 0 && agesWithTheClock('oldestAgeMs', first, reading))
      return this.#away('held', reading);
    if (reading.lag.backlogAgeMs <= BEHIND_MS) return 'calm';
    // If evaluation was away for part of the period, the period does not show overload.
    const wasAway = this.#awayAtMs >= first.atMs;
    return wasAway || isWorkedOff(first, reading) ? 'catching up' : 'overloaded';
  }

  #away(lagState: LagState, { atMs }: LagReading): LagState {
    this.#awayAtMs = atMs;
    return lagState;
  }
}

function agesWithTheClock(age: 'backlogAgeMs' | 'oldestAgeMs', first: LagReading, last: LagReading): boolean {
  const passedMs = last.atMs - first.atMs;
  return passedMs >= JUDGED_OVER_MS && last.lag[age] - first.lag[age] >= passedMs * WITH_THE_CLOCK;
}

function isWorkedOff(first: LagReading, last: LagReading): boolean {
  const handled = last.handled - first.handled;
  const came = last.admitted - first.admitted;
  return handled > 0 && handled - came >= handled * WORKED_OFF;
}
