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
    const call = { model, usage: { inputTokens: 100_000, outputTokens: 10_000 }, atMs: AT };
    expect(prices.costOf({ ...call, serviceTier })).toBeCloseTo((prices.costOf(call) ?? 0) * factor, 10);
  });

  it.each([
    ['claude-sonnet-4-5', 'priority'],
    ['gpt-3.5-turbo', 'priority'],
    ['gpt-5', 'constructor'],
    ['gpt-5', 'a tier of next year'],
  ])('has no price for %s in the tier %s', (model, serviceTier) => {
    expect(prices.costOf({ model, usage: { inputTokens: 10 }, atMs: AT, serviceTier })).toBeUndefined();
  });

  it('charges more for cache writes that live for an hour', () => {
    const call = { model: 'claude-sonnet-4-5', usage: { inputTokens: 3, cacheWriteTokens: 100_000 }, atMs: AT };
    expect(prices.costOf(call)).toBeCloseTo((3 * 3 + 100_000 * 3.75) / 1e6, 10);
    expect(prices.costOf({ ...call, cacheWrite1hTokens: 100_000 })).toBeCloseTo((3 * 3 + 100_000 * 6) / 1e6, 10);
  });
});
