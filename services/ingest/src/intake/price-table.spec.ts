import { describe, expect, it } from '@jest/globals';
import { PriceTable } from './price-table.ts';

const AT = Date.parse('2026-03-01T12:00:00Z');
const prices = new PriceTable();

function cost(model: string, usage: Record<string, number>, provider?: string): number | undefined {
  return prices.costOf({ model, provider, usage, atMs: AT });
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

  it('prices cached tokens beside the input of Anthropic', () => {
    const usage = { inputTokens: 100, outputTokens: 500, cacheReadTokens: 200 };
    const inside = { inputTokens: 300, outputTokens: 500, cacheReadTokens: 0 };
    const price = cost('claude-sonnet-4-5', usage, 'anthropic') ?? 0;
    expect(price).toBeGreaterThan(0.0075);
    expect(price).toBeLessThan(cost('claude-sonnet-4-5', inside, 'anthropic') ?? 0);
  });

  it('prices cached tokens of Anthropic once if the source counts them inside the input', () => {
    const beside = { inputTokens: 100, outputTokens: 500, cacheReadTokens: 200, cacheWriteTokens: 50 };
    const inside = { ...beside, inputTokens: 350 };
    const call = { model: 'claude-sonnet-4-5', provider: 'anthropic', atMs: AT };
    expect(prices.costOf({ ...call, usage: inside, cachedInside: true })).toBeCloseTo(
      cost('claude-sonnet-4-5', beside, 'anthropic') ?? 0,
      12,
    );
  });

  it('trusts a source that counts cached tokens inside the input more than the total', () => {
    const usage = { inputTokens: 1000, outputTokens: 500, cacheReadTokens: 200, totalTokens: 1700 };
    const call = { model: 'gpt-4o', provider: 'openai', atMs: AT };
    expect(prices.costOf({ ...call, usage, cachedInside: true })).toBeCloseTo(0.00725, 10);
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
});
