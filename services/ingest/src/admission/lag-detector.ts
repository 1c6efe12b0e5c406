import type { ConsumerLag } from '@agentlens/messaging';

/**
 * Behind by this much, evaluation would be late for the tenants that are not the cause. Not less than the time it takes
 * to tell an outage from overload, or the first second of an outage would turn clients away.
 */
const BEHIND_MS = 1_000;
/** What ages by more of the time that passes than this ages with the clock. */
const WITH_THE_CLOCK = 0.95;
/** A backlog that loses this share of what is handled is being worked off. */
const WORKED_OFF = 0.1;
/** Growth is judged over this long; single readings jump by a batch. */
const JUDGED_OVER_MS = 1_000;

/**
 * How evaluation stands.
 *
 * - `calm`: it is not behind by much.
 * - `stalled` (Redis away, no evaluator running): nothing is settled. The stream keeps what comes, for days, and turning
 *   clients away would lose what waiting saves.
 * - `held`: somebody who is gone holds a few messages, which come back in their time, however little is let in; all others
 *   are settled as they come.
 * - `catching up`: it is behind and settles more than comes, as after a stall.
 * - `overloaded`: it is behind, and does not catch up by itself.
 */
export type LagState = 'calm' | 'stalled' | 'held' | 'catching up' | 'overloaded';

/** What is looked at of how far evaluation is behind. */
export type EvaluationLag = Pick<ConsumerLag, 'pending' | 'oldestAgeMs' | 'backlogAgeMs'>;

export interface LagReading {
  readonly atMs: number;
  readonly lag: EvaluationLag;
  /** Events let in so far. */
  readonly admitted: number;
  /** Of them, those that are settled, so far as the lag tells. */
  readonly handled: number;
}

/** Tells how evaluation stands by how its lag moved within the last second. */
export class LagDetector {
  #readings: LagReading[] = [];
  #awayAtMs = Number.NEGATIVE_INFINITY;

  read(reading: LagReading): LagState {
    this.#readings.push(reading);
    // Keeps one reading from before the judged span to measure the growth from.
    while (this.#readings.length > 2 && reading.atMs - (this.#readings[1]?.atMs ?? 0) >= JUDGED_OVER_MS) {
      this.#readings.shift();
    }
    const first = this.#readings[0] ?? reading;
    if (agesWithTheClock('backlogAgeMs', first, reading)) return this.#away('stalled', reading);
    if (reading.lag.pending === 0 && agesWithTheClock('oldestAgeMs', first, reading))
      return this.#away('held', reading);
    if (reading.lag.backlogAgeMs <= BEHIND_MS) return 'calm';
    // A span that somebody was away for part of does not tell whether what comes is too much.
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
