import { DAY_MS, HOUR_MS } from '@agentlens/contracts';

const UNITS = { h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS } as const;
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A closed range of time; without an end it is open there. */
interface Ends {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * The query with the ends that its `range` (`24h`, `7d`, `4w`) means: so long from `from`, or else up to `to` or now. A
 * range up to now has no end: what comes meanwhile is in it.
 */
export function withEnds<Query extends Ends & { readonly range?: string | undefined }>(
  query: Query,
  nowMs: number,
): Query {
  const { from, to, range } = query;
  if (range === undefined) return query;
  const lengthMs = Number.parseInt(range, 10) * UNITS[range.slice(-1) as keyof typeof UNITS];
  if (from !== undefined) return { ...query, to: instant(Date.parse(from) + lengthMs) };
  return { ...query, from: instant((to === undefined ? nowMs : Date.parse(to)) - lengthMs) };
}

/** Within the years that Postgres and JavaScript read alike. */
function instant(ms: number): string {
  return new Date(Math.min(Math.max(0, ms), LATEST_MS)).toISOString();
}
