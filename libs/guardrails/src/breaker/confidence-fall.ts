/** Maximum of `BreakerLimits.confidenceWindow`. */
const MAX_REPORTS = 50;

/** Appends a report and drops the oldest. Ignores anything that is not a number between 0 and 1. */
export function remember(reports: readonly number[], report: number): readonly number[] {
  if (!(report >= 0 && report <= 1)) return reports;
  return [...reports.slice(1 - MAX_REPORTS), report];
}

/**
 * Drop of the last `window` reports along their least-squares line, from the first to the last, so that one bad report
 * is not a drift. Negative if confidence rises, null if there are fewer reports than `window`.
 */
export function confidenceFall(reports: readonly number[], window: number): number | null {
  if (window < 2 || reports.length < window) return null;
  const first = reports.length - window;
  const middle = (window - 1) / 2;
  let along = 0;
  let spread = 0;
  for (let index = 0; index < window; index++) {
    const distance = index - middle;
    along += distance * (reports[first + index] ?? 0);
    spread += distance * distance;
  }
  return -(along / spread) * (window - 1);
}
