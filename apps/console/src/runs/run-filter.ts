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
  | 'took'
  | 'has'
  | 'sort'
  | 'order'
  | 'range'
  | 'from'
  | 'to';
export type RunSearch = Range & { readonly [K in RunSearchName]?: string };

export const COSTS = [
  { id: 'over1', name: 'over $1', query: { minCostUsd: 1 } },
  { id: 'over01', name: '$0.10 to $1', query: { minCostUsd: 0.1, maxCostUsd: 1 } },
  { id: 'under01', name: 'under $0.10', query: { maxCostUsd: 0.1 } },
] as const;

export const TOOK = [
  { id: 'over10m', name: 'over 10 min', query: { minDurationMs: 600_000 } },
  { id: 'over1m', name: '1 to 10 min', query: { minDurationMs: 60_000, maxDurationMs: 600_000 } },
  { id: 'under1m', name: 'under 1 min', query: { maxDurationMs: 60_000 } },
] as const;

export const HAS = [
  { id: 'errors', name: 'errors' },
  { id: 'blocked', name: 'a blocked call' },
] as const;

export const SORTS = [
  { id: 'started', name: 'started' },
  { id: 'duration', name: 'duration' },
  { id: 'cost', name: 'cost' },
  { id: 'tokens', name: 'tokens' },
  { id: 'steps', name: 'steps' },
  { id: 'errors', name: 'errors' },
] as const;

/** The filter as the API takes it. */
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
    ...(TOOK.find(({ id }) => id === search.took)?.query ?? {}),
    search: search.q,
    ...(search.has === 'errors' ? { hasError: true } : {}),
    ...(search.has === 'blocked' ? { wasBlocked: true } : {}),
    ...bounds(search),
  };
}

/** The filter in words, for "No runs for this filter". */
export function filterInWords(search: RunSearch): string {
  const names: readonly RunSearchName[] = [
    ...(['q', 'status', 'agent', 'model', 'tag', 'rule', 'cost', 'took', 'has', 'session', 'actor'] as const),
  ];
  const parts = names.flatMap((name) =>
    search[name] === undefined ? [] : [`${name === 'q' ? 'text' : name} ${search[name]}`],
  );
  return parts.length === 0 ? 'only the time range' : parts.join(', ');
}

export function isFiltered(search: RunSearch): boolean {
  return filterInWords(search) !== 'only the time range';
}
