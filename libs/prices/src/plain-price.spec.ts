import type { Usage } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { calcPrice, type Provider } from '@pydantic/genai-prices';
import * as fc from 'fast-check';
import { SHIPPED_PROVIDERS } from './generated/shipped-table.ts';
import { readPlainPricing } from './plain-price.ts';

type Model = Provider['models'][number];

const MODELS: readonly { readonly provider: Provider; readonly model: Model }[] = (
  JSON.parse(SHIPPED_PROVIDERS) as Provider[]
).flatMap((shipped) => {
  const { fallback_model_providers: _, ...provider } = shipped;
  return provider.models.map((model) => ({
    model,
    provider: { ...provider, models: [{ ...model, match: { equals: model.id } }] },
  }));
});
const PLAIN = MODELS.flatMap(({ model, provider }) => {
  const pricing = readPlainPricing(model.prices);
  return pricing === undefined ? [] : [{ model, provider, pricing }];
});

/** What the library computes; null if it refuses the counts. */
function byLibrary({ model, provider }: (typeof MODELS)[number], usage: Usage, atMs: number) {
  const counts: Record<string, number> = {
    input_tokens: usage.inputTokens ?? 0,
    output_tokens: usage.outputTokens ?? 0,
  };
  if (usage.cacheReadTokens) counts.cache_read_tokens = usage.cacheReadTokens;
  if (usage.reasoningTokens) counts.output_reasoning_tokens = usage.reasoningTokens;
  if (usage.cacheWriteTokens) counts.cache_write_tokens = usage.cacheWriteTokens;
  try {
    return calcPrice(counts, model.id, { provider, timestamp: new Date(atMs) });
  } catch {
    return null;
  }
}

const count = fc.oneof(fc.nat(300), fc.nat(2_000_000));
const usages = fc.record(
  {
    ...{ inputTokens: count, outputTokens: count, cacheReadTokens: count, cacheWriteTokens: count },
    reasoningTokens: count,
  },
  { requiredKeys: [] },
);
const times = fc.integer({ min: Date.parse('2023-01-01T00:00:00Z'), max: Date.parse('2027-06-30T23:59:59Z') });

describe('a plain price', () => {
  it('exists for most models of the table', () => {
    expect(PLAIN.length).toBeGreaterThan(MODELS.length * 0.7);
  });

  it('is what the library computes, to the last digit, or none where the library refuses the counts', () => {
    fc.assert(
      fc.property(fc.nat(PLAIN.length - 1), usages, times, (at, usage, atMs) => {
        const listed = PLAIN[at];
        if (listed === undefined) throw new Error('no such model');
        const price = listed.pricing(usage, atMs);
        const expected = byLibrary(listed, usage, atMs);
        // Few models price reasoning; their calls are left to the library.
        if (price === undefined && usage.reasoningTokens) return;
        if (price === undefined) expect(expected).toBeNull();
        else expect(price).toEqual({ usd: expected?.total_price, rates: expected?.model_price });
      }),
      { numRuns: 5_000 },
    );
  });

  it('of every model is what the library computes for one call', () => {
    const usage = { inputTokens: 250_000, outputTokens: 901, cacheReadTokens: 1_003, cacheWriteTokens: 77 };
    const atMs = Date.parse('2026-03-01T12:00:00Z');
    for (const listed of PLAIN) {
      const expected = byLibrary(listed, usage, atMs);
      expect({ id: listed.model.id, usd: listed.pricing(usage, atMs)?.usd }).toEqual({
        id: listed.model.id,
        usd: expected?.total_price,
      });
    }
  });

  it('is left to the library for other tokens, odd counts and prices by the time of day', () => {
    const pricing = PLAIN.find(({ model }) => model.id === 'gpt-4o')?.pricing;
    const atMs = Date.parse('2026-03-01T12:00:00Z');
    expect(pricing?.({ inputTokens: 10, outputTokens: 5 }, atMs)).toBeDefined();
    for (const usage of [
      { inputTokens: 10, audioInputTokens: 5 },
      { inputTokens: 10, cacheWriteTokens: 5, cacheWrite1hTokens: 5 },
      { inputTokens: 1.5 },
      { inputTokens: -1 },
      { inputTokens: 5, cacheReadTokens: 6 },
    ]) {
      expect(pricing?.(usage, atMs)).toBeUndefined();
    }
    const byTime = { constraint: { type: 'time_of_date', start_time: '01:00:00Z', end_time: '02:00:00Z' } } as const;
    const prices = { input_mtok: 1, output_mtok: 2 };
    expect(readPlainPricing([{ prices }, { ...byTime, prices }])).toBeUndefined();
    const thinking = readPlainPricing({ ...prices, output_reasoning_mtok: 4 });
    expect(thinking?.({ outputTokens: 10, reasoningTokens: 5 }, atMs)).toBeUndefined();
    expect(thinking?.({ outputTokens: 10 }, atMs)).toBeDefined();
    expect(readPlainPricing({ ...prices, requests_kcount: 3 })).toBeUndefined();
  });
});
