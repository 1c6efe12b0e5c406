/** No limit looks back further (BreakerLimits.confidenceWindow), so no more reports are kept. */
const MOST_REPORTS = 50;

/** The reports with one more, forgetting the oldest. What is not a number between 0 and 1 is no report. */
export function remember(reports: readonly number[], report: number): readonly number[] {
  if (!(report >= 0 && report <= 1)) return reports;
  return [...reports.slice(1 - MOST_REPORTS), report];
}

/**
 * How far the last `window` reports fall along their trend, from the first to the last: the least-squares line, so
 * that one bad report in a good series is not a drift. Negative where confidence rises, null before there are as many.
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
