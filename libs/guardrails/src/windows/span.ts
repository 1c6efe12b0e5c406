import type { Series, WindowSpan } from '../ports/window-store.ts';

/** Number of buckets in a sliding window: n minutes are sixty buckets of n seconds. */
const BUCKETS = 60;

/**
 * Returns true if `atMs` lies inside the span at `nowMs`. A sliding window is the current bucket and the 59 before it;
 * a run or a day contains everything added to it.
 */
export function spans(span: WindowSpan, atMs: number, nowMs: number): boolean {
  if (span.kind !== 'sliding') return true;
  const bucketMs = span.minutes * 1000;
  const age = Math.floor(nowMs / bucketMs) - Math.floor(atMs / bucketMs);
  return age >= 0 && age < BUCKETS;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Returns when the content of a span at `nowMs` began. The start of a run is unknown here and assumed to be a day ago.
 */
export function spanStart(span: WindowSpan, nowMs: number): number {
  if (span.kind === 'sliding') return nowMs - span.minutes * MINUTE_MS;
  return span.kind === 'day' ? Date.parse(span.day) : nowMs - DAY_MS;
}

/**
 * Key of a series. Rules that need the same metric over the same span in the same shape share one. The shape is part of
 * the key because widening it for one rule would discard the counts of the others.
 */
export function seriesKey({ metric, span, shape }: Series): string {
  if (span.kind === 'sliding') return `${shape}|s${span.minutes}|${metric}`;
  return span.kind === 'run' ? `${shape}|r${span.runId}|${metric}` : `${shape}|d${span.day}|${metric}`;
}

/** Equals comparing the keys, without building them. */
export function sameSeries(a: Series, b: Series | undefined): boolean {
  return b !== undefined && a.metric === b.metric && a.shape === b.shape && sameSpan(a.span, b.span);
}

function sameSpan(a: WindowSpan, b: WindowSpan): boolean {
  if (a.kind === 'sliding') return b.kind === 'sliding' && a.minutes === b.minutes;
  if (a.kind === 'run') return b.kind === 'run' && a.runId === b.runId;
  return b.kind === 'day' && a.day === b.day;
}
