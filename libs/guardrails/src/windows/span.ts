import type { Series, SeriesShape, Span } from '../ports/window-store.ts';

/** Buckets of a sliding window: n minutes are sixty buckets of n seconds. */
const BUCKETS = 60;

/**
 * True if something at `atMs` lies inside the span at `nowMs`. A sliding window is the bucket of now and the 59 before
 * it; a run or a day holds whatever is added to it.
 */
export function spans(span: Span, atMs: number, nowMs: number): boolean {
  if (span.kind !== 'sliding') return true;
  const bucketMs = span.minutes * 1000;
  const age = Math.floor(nowMs / bucketMs) - Math.floor(atMs / bucketMs);
  return age >= 0 && age < BUCKETS;
}

/** Two rules that need the same quantity over the same span share one series, whatever shape each needs. */
export function seriesKey({ metric, span }: Series): string {
  if (span.kind === 'sliding') return `s${span.minutes}|${metric}`;
  return span.kind === 'run' ? `r${span.runId}|${metric}` : `d${span.day}|${metric}`;
}

const RICHNESS: Record<SeriesShape, number> = { sum: 0, spread: 1, quantiles: 2 };

/** The shape that serves both. */
export function richer(a: SeriesShape, b: SeriesShape): SeriesShape {
  return RICHNESS[a] >= RICHNESS[b] ? a : b;
}
