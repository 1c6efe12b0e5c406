/** Upper bounds of the latency histogram of decisions, ms. The last count is of everything above. */
export const LATENCY_BOUNDS_MS = [
  0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 125, 250, 500, 1_000, 2_000, 4_000, 8_000,
] as const;

/**
 * The latency that a share of all decisions did not exceed, interpolated within its bucket; null without decisions.
 * Values above the last bound count as that bound.
 */
export function latencyAt(share: number, counts: readonly number[]): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const wanted = share * total;
  let seen = 0;
  for (const [index, count] of counts.entries()) {
    const upper = LATENCY_BOUNDS_MS[index];
    if (upper === undefined) break;
    if (count > 0 && seen + count >= wanted) {
      const lower = LATENCY_BOUNDS_MS[index - 1] ?? 0;
      return lower + ((upper - lower) * Math.max(0, wanted - seen)) / count;
    }
    seen += count;
  }
  return LATENCY_BOUNDS_MS.at(-1) ?? null;
}
