import type { ModelProvider, SelectProvider } from './model-provider.ts';

/** The default: by priority, then in list order. */
export const byPriority: SelectProvider = (candidates) => sortedBy(candidates, ({ priority = 0 }) => -priority);

/** Cheapest first; providers without a price last. */
export const byCost: SelectProvider = (candidates) =>
  sortedBy(candidates, ({ price }) => (price === undefined ? Number.POSITIVE_INFINITY : price.input + price.output));

/** Fastest first; providers without measurements come before all others, so that each is measured. */
export const byLatency: SelectProvider = (candidates, _need, stats) =>
  sortedBy(candidates, ({ id }) => stats.latencyMs(id) ?? 0);

function sortedBy(candidates: readonly ModelProvider[], rank: (provider: ModelProvider) => number): ModelProvider[] {
  return candidates
    .map((provider, index) => ({ provider, index, rank: rank(provider) }))
    .sort((a, b) => (a.rank === b.rank ? a.index - b.index : a.rank < b.rank ? -1 : 1))
    .map(({ provider }) => provider);
}
