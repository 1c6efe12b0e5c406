/**
 * How long a message rests after its 1st, 2nd, ... failed delivery, ms; the last value repeats for ever. Both adapters use
 * it: the broker's own redelivery is immediate and would burn through a blip in milliseconds.
 */
export const BACK_OFF_MS: readonly number[] = [250, 500, 1_000, 2_000, 5_000, 10_000, 30_000];

/** @param attempt 1 for the first delivery */
export function backOff(attempt: number, schedule: readonly number[] = BACK_OFF_MS): number {
  return schedule[Math.min(Math.max(attempt, 1), schedule.length) - 1] ?? 0;
}
