import { DAY_MS } from '@agentlens/contracts';

/** How far before the window the usual cost and duration of an agent are taken from. */
const BASELINE_DAYS = 30;

/** Closed range of UTC days (`2026-11-21`) that is scored. */
export interface HealthWindow {
  readonly from: string;
  readonly to: string;
}

/** Today and the days before it, `days` in all. */
export function healthWindow(days: number, nowMs: number): HealthWindow {
  return { from: dayOf(nowMs - (days - 1) * DAY_MS), to: dayOf(nowMs) };
}

/** The window of the same length that ends the day before this one begins. */
export function windowBefore(window: HealthWindow): HealthWindow {
  const length = Date.parse(window.to) - Date.parse(window.from);
  const to = Date.parse(window.from) - DAY_MS;
  return { from: dayOf(to - length), to: dayOf(to) };
}

/** The first day whose totals are needed to score this window. */
export function baselineStart(window: HealthWindow): string {
  return dayOf(Date.parse(window.from) - BASELINE_DAYS * DAY_MS);
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
