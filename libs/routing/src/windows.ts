import { dayBefore, type MuteWindow, minuteOfDay, readWallClock } from '@agentlens/contracts';

/**
 * True if the wall clock of the window's zone is inside it. When the clock is put back, a wall-clock time occurs twice,
 * and both are inside; when it is put forward, the skipped time is not there.
 */
export function isInWindow(window: MuteWindow, atMs: number): boolean {
  const local = readWallClock(window.zone, atMs);
  if (local === undefined) return false;
  const { day, minute } = local;
  const [from, to] = [minuteOfDay(window.from), minuteOfDay(window.to)];
  if (from < to) return window.days.includes(day) && minute >= from && minute < to;
  return (window.days.includes(day) && minute >= from) || (window.days.includes(dayBefore(day)) && minute < to);
}
