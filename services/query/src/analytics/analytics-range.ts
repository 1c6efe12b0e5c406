import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import type { AnalyticsQuery, Granularity } from '@agentlens/operations';
import { ProblemException } from '@agentlens/platform';

const UNITS = { h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS } as const;

/** How far back each granularity looks by default, and at most: an answer has at most about 800 buckets. */
const REACH: Record<Granularity, { byDefault: number; most: number }> = {
  hour: { byDefault: DAY_MS, most: 31 * DAY_MS },
  day: { byDefault: 30 * DAY_MS, most: 366 * DAY_MS },
  week: { byDefault: 12 * 7 * DAY_MS, most: 3 * 366 * DAY_MS },
};

/**
 * The closed range a query means.
 * @throws ProblemException 400 where it holds more buckets than one answer may.
 */
export function analyticsRange(query: AnalyticsQuery, nowMs: number): { from: string; to: string } {
  const reach = REACH[query.granularity];
  const { fromMs, toMs } = endsOf(query, nowMs, reach.byDefault);
  if (fromMs > toMs) throw refused('from', 'must not be later than now');
  if (toMs - fromMs > reach.most) {
    const days = reach.most / DAY_MS;
    const message = `spans more than ${days} days, the most for granularity "${query.granularity}"; ask for less or for a coarser one`;
    throw refused(query.range === undefined ? 'from' : 'range', message);
  }
  return { from: new Date(Math.max(0, fromMs)).toISOString(), to: new Date(toMs).toISOString() };
}

function endsOf({ from, to, range }: AnalyticsQuery, nowMs: number, byDefault: number) {
  if (from !== undefined) {
    const fromMs = Date.parse(from);
    if (range !== undefined) return { fromMs, toMs: fromMs + lengthOf(range, byDefault) };
    return { fromMs, toMs: to === undefined ? nowMs : Date.parse(to) };
  }
  const toMs = to === undefined ? nowMs : Date.parse(to);
  return { fromMs: toMs - lengthOf(range, byDefault), toMs };
}

function lengthOf(range: string | undefined, byDefault: number): number {
  if (range === undefined) return byDefault;
  return Number.parseInt(range, 10) * UNITS[range.slice(-1) as keyof typeof UNITS];
}

function refused(path: string, message: string): ProblemException {
  return new ProblemException(400, 'Validation failed', { details: [{ path, message }] });
}
