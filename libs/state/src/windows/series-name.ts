import type { Series, Span } from '@agentlens/guardrails';
import { escaped } from '../escaped.ts';

/** Rules name the same series objects with every message. */
const names = new WeakMap<Series, string>();

/** One name per series, the same in every store: `cost_usd:10m:sum`, `error_count:run:<run id>:sum`, `x:day:2026-11-21:spread`. */
export function seriesName(series: Series): string {
  const known = names.get(series);
  if (known !== undefined) return known;
  const { metric, span, shape } = series;
  const name = `${escaped(metric)}:${spanName(span)}:${shape}`;
  names.set(series, name);
  return name;
}

function spanName(span: Span): string {
  switch (span.kind) {
    case 'sliding':
      return `${span.minutes}m`;
    case 'run':
      return `run:${escaped(span.runId)}`;
    case 'day':
      return `day:${span.day}`;
  }
}
