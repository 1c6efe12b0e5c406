import type { Query } from '../api/client.ts';
import { bounds, type Range } from '../time/range.ts';

export type RunSearchName =
  | 'q'
  | 'status'
  | 'agent'
  | 'model'
  | 'tag'
  | 'rule'
  | 'cost'
  | 'session'
  | 'actor'
  | 'at'
  | 'range'
  | 'from'
  | 'to';
export type RunSearch = Range & { readonly [K in RunSearchName]?: string };

export const COSTS = [
  { id: 'over1', name: 'over $1', query: { minCostUsd: 1 } },
  { id: 'over01', name: '$0.10 to $1', query: { minCostUsd: 0.1, maxCostUsd: 1 } },
  { id: 'under01', name: 'under $0.10', query: { maxCostUsd: 0.1 } },
] as const;

/** The list's filter as the API takes it. The statuses `idle` and `waiting` are not the API's and are left to the page. */
export function runQuery(search: RunSearch): Query {
  const cost = COSTS.find(({ id }) => id === search.cost)?.query ?? {};
  return {
    agentId: search.agent,
    status: search.status,
    model: search.model,
    tags: search.tag,
    ruleId: search.rule,
    sessionId: search.session,
    actorId: search.actor,
    ...cost,
    ...bounds(search),
  };
}

/** The filter in words, for "No runs for this filter". */
export function filterInWords(search: RunSearch): string {
  const names: readonly RunSearchName[] = ['q', 'status', 'agent', 'model', 'tag', 'rule', 'cost', 'session', 'actor'];
  const parts = names.flatMap((name) =>
    search[name] === undefined ? [] : [`${name === 'q' ? 'text' : name} ${search[name]}`],
  );
  return parts.length === 0 ? 'the time range alone' : parts.join(', ');
}

export function isFiltered(search: RunSearch): boolean {
  return filterInWords(search) !== 'the time range alone';
}
