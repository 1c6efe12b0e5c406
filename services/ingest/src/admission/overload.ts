/**
 * Behind by this much, evaluation would be late for the tenants that are not the cause. Not less than the time it takes
 * to tell an outage from overload, or the first second of an outage would turn clients away.
 */
const BEHIND_MS = 1_000;
/** A consumer whose backlog ages as fast as time passes does nothing at all: shedding would not help it. */
const STALLED_GROWTH = 0.95;
/** Growth is judged over this long; single readings jump by a batch. */
const JUDGED_OVER_MS = 1_000;

interface Reading {
  readonly atMs: number;
  readonly backlogAgeMs: number;
}

/**
 * Tells overload from outage by the age of the backlog: how long ago as many messages came as are not settled. Overload:
 * it is old, and messages are being settled. Outage (Redis away, no evaluator running): it ages with the clock; then the
 * stream keeps what comes, for days, and turning clients away would lose what waiting saves.
 */
export class Overload {
  #readings: Reading[] = [];

  read(backlogAgeMs: number, nowMs: number): boolean {
    this.#readings.push({ atMs: nowMs, backlogAgeMs });
    // Keeps one reading from before the judged span to measure the growth from.
    while (this.#readings.length > 2 && nowMs - (this.#readings[1]?.atMs ?? nowMs) >= JUDGED_OVER_MS) {
      this.#readings.shift();
    }
    return backlogAgeMs > BEHIND_MS && !this.#stalled(backlogAgeMs, nowMs);
  }

  #stalled(backlogAgeMs: number, nowMs: number): boolean {
    const first = this.#readings[0];
    if (first === undefined || nowMs - first.atMs < JUDGED_OVER_MS) return false;
    return backlogAgeMs - first.backlogAgeMs >= (nowMs - first.atMs) * STALLED_GROWTH;
  }
}
