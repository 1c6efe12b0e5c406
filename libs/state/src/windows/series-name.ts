import type { Series, SeriesShape, WindowSpan } from '@agentlens/guardrails';
import { oncePer } from '@agentlens/guardrails/ports';
import { escaped } from '../escaped.ts';

/** One name per series, the same in every store: `cost_usd:10m:sum`, `error_count:run:<run id>:sum`, `x:day:2026-11-21:spread`. */
export const seriesName = oncePer(
  ({ metric, span, shape }: Series) => `${escaped(metric)}:${spanName(span)}:${LAYOUTS[shape]}`,
);

/** A shape whose layout changes is kept under another name from then on. Its name comes last: replies are read by it. */
const LAYOUTS: Record<SeriesShape, string> = { sum: 'sum', spread: 'spread', quantiles: '4:quantiles' };

function spanName(span: WindowSpan): string {
  switch (span.kind) {
    case 'sliding':
      return `${span.minutes}m`;
    case 'run':
      return `run:${escaped(span.runId)}`;
    case 'day':
      return `day:${span.day}`;
  }
}
