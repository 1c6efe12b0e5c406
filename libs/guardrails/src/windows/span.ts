import type { Series, WindowSpan } from '../ports/window-store.ts';

/** Buckets of a sliding window: n minutes are sixty buckets of n seconds. */
const BUCKETS = 60;

/**
 * True if something at `atMs` lies inside the span at `nowMs`. A sliding window is the bucket of now and the 59 before
 * it; a run or a day holds whatever is added to it.
 */
export function spans(span: WindowSpan, atMs: number, nowMs: number): boolean {
  if (span.kind !== 'sliding') return true;
  const bucketMs = span.minutes * 1000;
  const age = Math.floor(nowMs / bucketMs) - Math.floor(atMs / bucketMs);
  return age >= 0 && age < BUCKETS;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** When what a span holds at `nowMs` began. Of a run nobody here knows: it is taken for one of this last day. */
export function spanStart(span: WindowSpan, nowMs: number): number {
  if (span.kind === 'sliding') return nowMs - span.minutes * MINUTE_MS;
  return span.kind === 'day' ? Date.parse(span.day) : nowMs - DAY_MS;
}

/**
 * Rules that need the same quantity over the same span in the same shape share one series. The shape belongs to it: were
 * it widened for one rule, the others would lose what was counted before.
 */
export function seriesKey({ metric, span, shape }: Series): string {
  if (span.kind === 'sliding') return `${shape}|s${span.minutes}|${metric}`;
  return span.kind === 'run' ? `${shape}|r${span.runId}|${metric}` : `${shape}|d${span.day}|${metric}`;
}

/** The same as equal keys, without making them. */
export function sameSeries(a: Series, b: Series | undefined): boolean {
  return b !== undefined && a.metric === b.metric && a.shape === b.shape && sameSpan(a.span, b.span);
}

function sameSpan(a: WindowSpan, b: WindowSpan): boolean {
  if (a.kind === 'sliding') return b.kind === 'sliding' && a.minutes === b.minutes;
  if (a.kind === 'run') return b.kind === 'run' && a.runId === b.runId;
  return b.kind === 'day' && a.day === b.day;
}
