import type { PriceOverride, Usage } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { nearestListed } from './nearest-listed.ts';
import { OwnPrices } from './own-prices.ts';
import { PriceTable } from './price-table.ts';

const AT = Date.parse('2026-03-01T12:00:00Z');
const table = new PriceTable();
let made = 0;

const override = (fields: Partial<PriceOverride>): PriceOverride => ({
  ...{ id: `price-${made++}`, tenantId: 'acme', version: 1, model: '*', fromDay: '2026-01-01' },
  ...{ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' },
  ...fields,
});

const quote = (
  overrides: readonly PriceOverride[],
  model: string,
  usage: Usage = { inputTokens: 1e6 },
  provider?: string,
) => new OwnPrices(table, overrides).quote({ model, provider, usage, atMs: AT });

const flat = (input: number) => ({ input, output: 0 });

describe('own prices', () => {
  it('apply before the table, an exact name before a pattern, the longest pattern, then the newest day', () => {
    const prices = [
      override({ id: 'all', model: '*', rates: flat(1) }),
      override({ id: 'short', model: 'gpt-*', rates: flat(2) }),
      override({ id: 'old', model: 'gpt-4o*', rates: flat(3), fromDay: '2026-01-01' }),
      override({ id: 'new', model: 'gpt-4o*', rates: flat(4), fromDay: '2026-02-01' }),
      override({ id: 'future', model: 'gpt-4o', rates: flat(5), fromDay: '2026-03-02' }),
      override({ id: 'exact', model: 'gpt-4o-mini', rates: flat(6) }),
    ];
    const refs = ['house', 'gpt-5', 'gpt-4o', 'gpt-4o-mini', 'azure/gpt-4o-mini'].map((model) => {
      const answer = quote(prices, model);
      return 'priceRef' in answer ? [answer.priceRef, answer.costUsd] : answer;
    });
    expect(refs).toEqual([
      ['override:all@1', 1],
      ['override:short@1', 2],
      ['override:new@1', 4],
      ['override:exact@1', 6],
      ['override:exact@1', 6],
    ]);
  });

  it('apply to one provider only if they name it', () => {
    const prices = [override({ provider: 'ollama', rates: flat(0) })];
    expect(quote(prices, 'llama3', undefined, 'ollama')).toMatchObject({ costUsd: 0 });
    expect(quote(prices, 'llama3', undefined, 'vllm')).toEqual({ unpriced: 'self_hosted' });
  });

  it.each([
    ['bedrock', ['aws.bedrock', 'amazon-bedrock', 'aws_bedrock', 'aws'], 'anthropic'],
    ['azure', ['azure.ai.openai', 'azure_openai', 'azure.chat'], 'openai'],
    ['google-vertex', ['gcp.vertex_ai', 'vertex_ai', 'google.vertex.chat'], 'google'],
    ['gcp.gemini', ['google', 'gemini', 'google.generative-ai'], 'google-vertex'],
    ['mistral_ai', ['mistral', 'mistral.chat'], 'openai'],
    ['x_ai', ['xai', 'xai.chat'], 'openai'],
  ])('of the provider %s apply under its other names %j, and not to %s', (provider, names, another) => {
    const prices = [override({ provider, model: 'gpt-4o', rates: flat(7) })];
    for (const name of names) expect(quote(prices, 'gpt-4o', undefined, name)).toMatchObject({ costUsd: 7 });
    expect(quote(prices, 'gpt-4o', undefined, another)).not.toMatchObject({ costUsd: 7 });
  });

  it('leave the fee of searches as the provider lists it', () => {
    const prices = [override({ rates: flat(1) })];
    expect(quote(prices, 'claude-sonnet-4-5', { inputTokens: 1e6, webSearches: 100 })).toMatchObject({
      ...{ costUsd: 2, feesUsd: 1 },
    });
  });

  it('change the price of the table by a factor, and have no price where the table has none', () => {
    const listed = table.quote({ model: 'gpt-4o', usage: { inputTokens: 1e6 }, atMs: AT });
    const prices = [override({ factor: 0.5 })];
    const half = 'costUsd' in listed ? listed.costUsd / 2 : Number.NaN;
    expect(quote(prices, 'gpt-4o')).toMatchObject({ costUsd: half });
    expect(quote(prices, 'house-model')).toEqual({ unpriced: 'unknown_model' });
  });

  it('add up every kind of token, with the rate of the kind that contains it if it has none', () => {
    const usage = {
      ...{ inputTokens: 1_000, outputTokens: 500, cacheReadTokens: 300, cacheWriteTokens: 200, cacheWrite1hTokens: 50 },
      ...{ reasoningTokens: 100, audioInputTokens: 40, audioOutputTokens: 10, cacheReadAudioTokens: 0 },
    };
    const all = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 2, cacheWrite1h: 4 };
    const more = { reasoning: 20, audioInput: 30, audioOutput: 60 };
    const expected = 460 * 1 + 300 * 0.1 + 150 * 2 + 50 * 4 + 40 * 30 + 390 * 10 + 100 * 20 + 10 * 60;
    const answer = quote([override({ rates: { ...all, ...more } })], 'm', usage);
    expect('costUsd' in answer && answer.costUsd).toBeCloseTo(expected / 1e6, 15);
    expect(quote([override({ rates: { input: 1, output: 10 } })], 'm', usage)).toMatchObject({ costUsd: 0.006 });
  });

  it('charge per request, by tier of input size and by service tier', () => {
    const tiers = [
      { aboveInputTokens: 1_000, rates: flat(10) },
      { aboveInputTokens: 100, rates: flat(5) },
    ];
    const prices = [override({ rates: flat(1), tiers, perRequestUsd: 0.25, serviceTiers: { batch: 0.5 } })];
    const cost = (inputTokens: number, serviceTier?: string) => {
      const answer = quote(prices, 'm', { inputTokens, ...(serviceTier && { serviceTier }) });
      return 'costUsd' in answer ? (answer.costUsd - 0.25) * 1e6 : answer.unpriced;
    };
    expect([cost(100), cost(101), cost(1_001)].map((usd) => Math.round(Number(usd)))).toEqual([100, 505, 10_010]);
    expect(Math.round(Number(cost(100, 'batch')))).toBe(50);
    expect(cost(100, 'flex')).toBe('service_tier');
  });

  it('have no price for parts that exceed the whole', () => {
    const prices = [override({ rates: flat(1) })];
    expect(quote(prices, 'm', { inputTokens: 10, cacheReadTokens: 11 })).toEqual({ unpriced: 'invalid_counts' });
  });

  it('match patterns as a regular expression would', () => {
    const letters = fc.array(fc.constantFrom('a', 'b', '.', '*'), { maxLength: 6 }).map((all) => all.join(''));
    const names = fc.array(fc.constantFrom('a', 'b', '.'), { minLength: 1, maxLength: 8 }).map((all) => all.join(''));
    fc.assert(
      fc.property(
        letters.filter((text) => text !== ''),
        names,
        (pattern, name) => {
          const expression = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
          const answer = quote([override({ model: pattern, rates: flat(1) })], name);
          expect('costUsd' in answer).toBe(expression.test(name));
        },
      ),
    );
  });
});

describe('a proposed price', () => {
  it('is that of the listed model whose name begins most alike', () => {
    expect(nearestListed(table, { model: 'gpt-4o-next', provider: 'openai' }, AT)).toMatchObject({
      ...{ provider: 'openai', basedOn: expect.stringMatching(/^openai\/gpt-4o/) },
      rates: { input: expect.any(Number), output: expect.any(Number) },
    });
    expect(nearestListed(table, { model: 'house', provider: 'openai' }, AT)).toBeUndefined();
    expect(nearestListed(table, { model: 'gpt-4o-next', provider: 'nobody' }, AT)).toMatchObject({
      provider: 'nobody',
    });
  });
});
