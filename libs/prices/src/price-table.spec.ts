import type { PricedCall, Quote, Usage } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { SHIPPED_PROVIDERS, SHIPPED_TABLE } from './generated/shipped-table.ts';
import { PriceTable } from './price-table.ts';
import { TableFile } from './table-file.ts';

const AT = Date.parse('2026-03-01T12:00:00Z');
const prices = new PriceTable();

function quoted(call: Omit<PricedCall, 'atMs'>): Quote {
  return prices.quote({ ...call, atMs: AT });
}

function costOf(call: Omit<PricedCall, 'atMs'>): number | undefined {
  const quote = quoted(call);
  return 'costUsd' in quote ? quote.costUsd : undefined;
}

function cost(model: string, usage: Usage, provider?: string): number | undefined {
  return costOf({ model, provider, usage });
}

describe('PriceTable', () => {
  it('prices input and output tokens of a known model', () => {
    expect(cost('gpt-4o', { inputTokens: 1000, outputTokens: 500 }, 'openai')).toBeCloseTo(0.0075, 10);
  });

  it.each(['openai', 'unknown', 'my-gateway', 'litellm', undefined])(
    'prices a model under the provider %p as its maker charges',
    (provider) => {
      expect(cost('gpt-4o', { inputTokens: 1000, outputTokens: 500 }, provider)).toBeCloseTo(0.0075, 10);
    },
  );

  it('splits the names of LiteLLM', () => {
    expect(cost('openai/gpt-4o', { inputTokens: 1000, outputTokens: 500 })).toBeCloseTo(0.0075, 10);
    expect(prices.providerOf('openai/gpt-4o')).toBe('openai');
  });

  it('prices cached tokens inside the input of OpenAI', () => {
    const usage = { inputTokens: 1000, outputTokens: 500, cacheReadTokens: 200 };
    expect(cost('gpt-4o', usage)).toBeCloseTo(0.00725, 10);
  });

  it('prices cached tokens of Anthropic once', () => {
    const usage = { inputTokens: 350, outputTokens: 500, cacheReadTokens: 200, cacheWriteTokens: 50 };
    expect(cost('claude-sonnet-4-5', usage, 'anthropic')).toBeCloseTo(
      (100 * 3 + 200 * 0.3 + 50 * 3.75 + 500 * 15) / 1e6,
      12,
    );
  });

  it('splits cached tokens and audio as the provider bills them', () => {
    const usage = { inputTokens: 1000, audioInputTokens: 600, cacheReadTokens: 400, outputTokens: 0 };
    const exact = quoted({ model: 'gpt-realtime', usage: { ...usage, cacheReadAudioTokens: 300 } });
    expect(exact).toMatchObject({ costUsd: expect.closeTo((300 * 32 + 300 * 4 + 400 * 0.4) / 1e6, 12) });
    expect(exact).not.toHaveProperty('approximation');
    const likely = quoted({ model: 'gpt-realtime', usage });
    expect(likely).toMatchObject({
      ...{ costUsd: expect.closeTo((360 * 32 + 240 * 4 + 400 * 0.4) / 1e6, 12), approximation: 'cached_audio' },
    });
  });

  it('prices any possible split of cached tokens and audio', () => {
    const part = fc.nat(10_000);
    fc.assert(
      fc.property(part, part, part, part, (text, audio, cachedText, cachedAudio) => {
        const usage = {
          ...{ inputTokens: text + audio + cachedText + cachedAudio, audioInputTokens: audio + cachedAudio },
          ...{ cacheReadTokens: cachedText + cachedAudio, outputTokens: 1 },
        };
        expect(cost('gpt-realtime', usage)).toBeGreaterThan(0);
        expect(cost('gemini-2.5-flash', usage, 'google')).toBeGreaterThan(0);
      }),
    );
  });

  it('adds the fee of searches, at the full price in every tier', () => {
    const usage = { inputTokens: 1000, outputTokens: 5, webSearches: 3 };
    const tokens = (1000 * 3 + 5 * 15) / 1e6;
    expect(quoted({ model: 'claude-sonnet-4-5', usage })).toMatchObject({
      ...{ costUsd: expect.closeTo(tokens + 0.03, 12), feesUsd: expect.closeTo(0.03, 12) },
    });
    const batch = { ...usage, serviceTier: 'batch' };
    expect(cost('claude-sonnet-4-5', batch)).toBeCloseTo(tokens / 2 + 0.03, 12);
    expect(quoted({ model: 'mistral-large-latest', usage })).toMatchObject({ unpriced: 'searches' });
  });

  it('prices another date of a listed model like that model, and says so', () => {
    const usage = { inputTokens: 1000, outputTokens: 500 };
    for (const model of ['gpt-4o-2026-11-20', 'openai/gpt-4o-20261120']) {
      expect(quoted({ model, usage })).toMatchObject({
        ...{ costUsd: expect.closeTo(0.0075, 10), approximation: 'dated_model' },
      });
    }
    expect(quoted({ model: 'gpt-4o-2024-08-06', usage })).not.toHaveProperty('approximation');
    expect(quoted({ model: 'house-2026-11-20', usage })).toEqual({ unpriced: 'unknown_model' });
  });

  it.each(['', 'unknown', 'house-model', '__proto__', 'constructor', '/', 'a/b/c', '(((', 'x'.repeat(1000)])(
    'has no price for %p',
    (model) => {
      expect(cost(model, { inputTokens: 1000, outputTokens: 500 })).toBeUndefined();
      expect(prices.providerOf(model)).toBeUndefined();
    },
  );

  it.each([
    ['gpt-4o', 'openai'],
    ['claude-sonnet-4-5', 'anthropic'],
    ['gemini-2.5-pro', 'google'],
  ])('finds the provider of %s', (model, provider) => {
    expect(prices.providerOf(model)).toBe(provider);
    expect(prices.providerOf(model)).toBe(provider);
  });

  // Per million tokens: 3 USD in and 15 USD out. Bedrock charges 10 % more in a region than globally.
  it.each([
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', undefined, 0.00495],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'anthropic', 0.00495],
    ['bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'litellm', 0.00495],
    ['global.anthropic.claude-sonnet-4-5-20250929-v1:0', 'bedrock', 0.0045],
    ['anthropic.claude-3-5-sonnet-20241022-v2:0', undefined, 0.0045],
    [
      'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0',
      'aws',
      0.00495,
    ],
    ['amazon.nova-pro-v1:0', undefined, 0.00112],
    ['us.meta.llama3-3-70b-instruct-v1:0', undefined, 0.000792],
    ['claude-sonnet-4-5@20250929', 'vertex_ai', 0.0045],
    ['publishers/anthropic/models/claude-sonnet-4-5@20250929', undefined, 0.0045],
    ['projects/p/locations/global/publishers/google/models/gemini-2.5-pro', undefined, 0.00225],
    ['models/gemini-2.5-pro', undefined, 0.00225],
    ['openrouter/anthropic/claude-sonnet-4.5', undefined, 0.0045],
    ['anthropic/claude-sonnet-4.5', 'openrouter', 0.0045],
    ['azure/eu/gpt-4o', undefined, 0.0035],
    ['ft:gpt-4o-mini-2024-07-18:org:name:id', undefined, 0.00042],
  ])('prices %s of %p', (model, provider, usd) => {
    expect(cost(model, { inputTokens: 1000, outputTokens: 100 }, provider)).toBeCloseTo(usd, 10);
  });

  it('has no price for any model on a self-hosted server', () => {
    const usage = { inputTokens: 1000, outputTokens: 100 };
    for (const model of ['ollama/deepseek-r1', 'hosted_vllm/gpt-4o']) expect(cost(model, usage)).toBeUndefined();
    expect(cost('gpt-4o', usage, 'vllm')).toBeUndefined();
  });

  it.each([
    ['gpt-5', 'default', 1],
    ['gpt-5', 'flex', 0.5],
    ['gpt-5', 'batch', 0.5],
    ['gpt-5-2025-08-07', 'priority', 2],
    ['gpt-5-mini', 'priority', 1.8],
    ['claude-sonnet-4-5', 'batch', 0.5],
  ])('prices %s in the tier %s', (model, serviceTier, factor) => {
    const usage = { inputTokens: 100_000, outputTokens: 10_000 };
    expect(cost(model, { ...usage, serviceTier })).toBeCloseTo((cost(model, usage) ?? 0) * factor, 10);
  });

  it.each([
    ['claude-sonnet-4-5', 'priority'],
    ['gpt-3.5-turbo', 'priority'],
    ['gpt-5', 'constructor'],
    ['gpt-5', 'a tier of next year'],
  ])('has no price for %s in the tier %s', (model, serviceTier) => {
    expect(quoted({ model, usage: { inputTokens: 10, serviceTier } })).toMatchObject({ unpriced: 'service_tier' });
  });

  it('charges more for cache writes that live for an hour', () => {
    const usage = { inputTokens: 100_003, cacheWriteTokens: 100_000 };
    expect(cost('claude-sonnet-4-5', usage)).toBeCloseTo((3 * 3 + 100_000 * 3.75) / 1e6, 10);
    const hour = { ...usage, cacheWrite1hTokens: 100_000 };
    expect(cost('claude-sonnet-4-5', hour)).toBeCloseTo((3 * 3 + 100_000 * 6) / 1e6, 10);
  });

  it('prices audio tokens at their own rate, and has no price where the vendor lists none', () => {
    const usage = { inputTokens: 1_000, outputTokens: 100, audioInputTokens: 800, audioOutputTokens: 90 };
    expect(cost('gpt-audio', usage, 'openai')).toBeCloseTo((200 * 2.5 + 800 * 32 + 10 * 10 + 90 * 64) / 1e6, 12);
    expect(quoted({ model: 'gpt-4o-audio-preview', provider: 'openai', usage })).toMatchObject({ unpriced: 'audio' });
  });

  it('states the table of a price, and why there is none', () => {
    expect(quoted({ model: 'gpt-4o', usage: { inputTokens: 10 } })).toMatchObject({
      priceRef: `table@${SHIPPED_TABLE.version}`,
    });
    expect(quoted({ model: 'house-model', usage: { inputTokens: 10 } })).toEqual({ unpriced: 'unknown_model' });
    expect(quoted({ model: 'ollama/llama3', usage: { inputTokens: 10 } })).toEqual({ unpriced: 'self_hosted' });
  });

  it('estimates a model without a price as the dearest of its provider', () => {
    const usage = { inputTokens: 100_000, outputTokens: 5_000 };
    const quote = quoted({ model: 'us.anthropic.claude-unheard-of', usage });
    expect(quote).toMatchObject({ unpriced: 'unknown_model', estimateUsd: expect.any(Number) });
    const known = cost('claude-sonnet-4-5', usage, 'anthropic') ?? 0;
    expect('estimateUsd' in quote && quote.estimateUsd).toBeGreaterThan(known);
  });

  it('ships as a table that an operator could load too', () => {
    const file = TableFile.parse(JSON.parse(SHIPPED_PROVIDERS));
    expect(file.map(({ id }) => id)).toEqual(expect.arrayContaining(['anthropic', 'aws', 'azure', 'google', 'openai']));
    expect(new PriceTable().version).toBe(SHIPPED_TABLE.version);
  });
});
