import { DAY_MS } from '@agentlens/contracts';
import { type AnalyticsQuery, type Granularity, withEnds } from '@agentlens/operations';
import { ProblemException } from '@agentlens/platform';

/** Default and maximum range of each granularity. An answer has at most about 800 buckets. */
const REACH: Record<Granularity, { byDefault: number; most: number }> = {
  hour: { byDefault: DAY_MS, most: 31 * DAY_MS },
  day: { byDefault: 30 * DAY_MS, most: 366 * DAY_MS },
  week: { byDefault: 12 * 7 * DAY_MS, most: 3 * 366 * DAY_MS },
};

/**
 * Returns the closed range that a query asks for.
 * @throws ProblemException 400 if the range has more buckets than one answer may hold
 */
export function analyticsRange(query: AnalyticsQuery, nowMs: number): { from: string; to: string } {
  const reach = REACH[query.granularity];
  const { fromMs, toMs } = endsOf(query, nowMs, reach.byDefault);
  if (fromMs > toMs) throw refused('from', 'must not be later than now');
  if (toMs - fromMs > reach.most) {
    const days = reach.most / DAY_MS;
    const message = `spans more than ${days} days, the maximum for granularity "${query.granularity}"; ask for less or for a coarser one`;
    throw refused(query.range === undefined ? 'from' : 'range', message);
  }
  return { from: new Date(Math.max(0, fromMs)).toISOString(), to: new Date(toMs).toISOString() };
}

function endsOf(query: AnalyticsQuery, nowMs: number, byDefault: number) {
  const { from, to } = withEnds(query, nowMs);
  const toMs = to === undefined ? nowMs : Date.parse(to);
  return { fromMs: from === undefined ? toMs - byDefault : Date.parse(from), toMs };
}

function refused(path: string, message: string): ProblemException {
  return new ProblemException(400, 'Validation failed', { details: [{ path, message }] });
}
