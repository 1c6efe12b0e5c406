import type { DecisionRequest } from '@agentlens/contracts';
import type { Series, Totals } from '../ports/window-store.ts';
import { seriesKey } from '../windows/span.ts';
import { NO_TOTALS, withValue } from '../windows/totals.ts';
import type { CallFacts, DecisionFacts } from './facts.ts';

/** Presents the fetched facts to conditions. */
export function callView(request: DecisionRequest, facts: DecisionFacts, nowMs: number): CallFacts {
  const { needs, history, histories, totals, labels, argsHash, resultHash } = facts;
  const places = new Map(needs.series.map((series, at) => [seriesKey(series), at]));
  const before = (series: Series): Totals | null => {
    const at = places.get(seriesKey(series));
    if (at === undefined || totals === undefined || typeof totals === 'string') return null;
    return totals[at] ?? NO_TOTALS;
  };
  const including = (series: Series): Totals | null => {
    const at = places.get(seriesKey(series));
    const mine = needs.increments.filter((increment) => increment.series === at);
    const known = before(series);
    return known && mine.reduce((sum, { atMs, value }) => withValue(sum, series.shape, atMs, value), known);
  };
  return {
    request,
    nowMs,
    argsHash,
    ...(resultHash === undefined ? {} : { resultHash }),
    history: history === undefined || typeof history === 'string' ? null : history,
    calls(scope) {
      const wider = typeof histories === 'object' ? histories : undefined;
      const found = scope === 'run' ? history : wider?.get(scope);
      return found === undefined || typeof found === 'string' ? null : found;
    },
    labels: labels === undefined || typeof labels === 'string' ? null : labels,
    before,
    including,
  };
}
