import type { Query } from '../api/client.ts';
import type { RunFacets } from '../api/model.ts';
import { count } from '../figures/figures.ts';
import { bounds, type Range } from '../time/range.ts';
import { list, toggled } from '../url/search.ts';

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
    tagsAll: search.tag,
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

/** Tags of a run that have a filter of their own. */
const NAMED_TAGS = [
  { name: 'Repository', prefix: 'project=' },
  { name: 'Branch', prefix: 'branch=' },
] as const;

export interface TagFilter {
  readonly name: string;
  /** The chosen tag; undefined if this filter adds one. */
  readonly tag: string | undefined;
  readonly choices: readonly { readonly id: string; readonly name: string; readonly hint: string }[];
  /** The list of tags after a tag was chosen, or after this one was removed. */
  readonly next: (tag: string | undefined) => string | undefined;
}

/** One filter per chosen tag, and one per kind of tag that can be added. A run has all chosen tags. */
export function tagFilters(search: RunSearch, facets: Pick<RunFacets, 'tags'> | undefined): TagFilter[] {
  const chosen = list(search.tag);
  const kindOf = (tag: string) => NAMED_TAGS.find(({ prefix }) => tag.startsWith(prefix));
  const shown = (tag: string) => tag.slice(kindOf(tag)?.prefix.length ?? 0);
  return [...NAMED_TAGS, undefined].flatMap((kind): TagFilter[] => {
    const name = kind?.name ?? 'Tag';
    const present = chosen.filter((tag) => kindOf(tag) === kind);
    const choices = (facets?.tags ?? [])
      // The list of tags is separated by commas, so a tag with a comma cannot be in it.
      .filter(({ value }) => kindOf(value) === kind && !chosen.includes(value) && !value.includes(','))
      .map(({ value, runs }) => ({ id: value, name: shown(value), hint: count(runs) }));
    const removable = present.map((tag) => ({
      name,
      tag,
      choices: [{ id: tag, name: shown(tag), hint: '' }],
      next: () => toggled(search.tag, tag),
    }));
    // A run has one repository and one branch.
    if (choices.length === 0 || (kind !== undefined && present.length > 0)) return removable;
    return [
      ...removable,
      { name, tag: undefined, choices, next: (tag) => (tag === undefined ? search.tag : toggled(search.tag, tag)) },
    ];
  });
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
