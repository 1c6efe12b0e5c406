import { describe, expect, it } from '@jest/globals';
import { tokensOf } from './tokens.ts';

/** A span of the AI SDK with the metadata of a provider. */
const read = (metadata: object, counts: Record<string, unknown> = {}) =>
  tokensOf(new Map(Object.entries({ ...counts, 'ai.response.providerMetadata': JSON.stringify(metadata) })));

describe('what the AI SDK keeps as metadata of the provider', () => {
  it('has the cache writes and searches of Anthropic, whose input leaves cached tokens out', () => {
    const usage = {
      ...{ input_tokens: 2000, output_tokens: 5, cache_read_input_tokens: 900, cache_creation_input_tokens: 90 },
      ...{ cache_creation: { ephemeral_1h_input_tokens: 40 }, server_tool_use: { web_search_requests: 3 } },
      service_tier: 'priority',
    };
    expect(read({ anthropic: { usage } }, { 'ai.usage.inputTokens': 2000, 'ai.usage.outputTokens': 5 })).toMatchObject({
      usage: {
        ...{ inputTokens: 2990, outputTokens: 5, cacheReadTokens: 900, cacheWriteTokens: 90, cacheWrite1hTokens: 40 },
        ...{ webSearches: 3, countsFrom: 'provider' },
      },
      serviceTier: 'priority',
    });
  });

  it("has the thinking of Gemini, the results of its tools, and the cache's audio", () => {
    const usageMetadata = {
      ...{ promptTokenCount: 100, candidatesTokenCount: 20, thoughtsTokenCount: 10, toolUsePromptTokenCount: 30 },
      ...{ cachedContentTokenCount: 50, cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 8 }] },
    };
    const expected = { inputTokens: 130, outputTokens: 30, reasoningTokens: 10, cacheReadAudioTokens: 8 };
    expect(read({ google: { usageMetadata } }).usage).toMatchObject(expected);
    expect(read({ vertex: { usageMetadata } }).usage).toMatchObject(expected);
  });

  it('has the tier of OpenAI, and leaves the counts of the framework as they are', () => {
    const tokens = read(
      { openai: { serviceTier: 'flex' } },
      { 'ai.usage.inputTokens': 10, 'ai.usage.outputTokens': 5 },
    );
    expect(tokens).toMatchObject({ serviceTier: 'flex', usage: { inputTokens: 10, outputTokens: 5 } });
  });

  it('has what a gateway charges', () => {
    expect(read({ gateway: { cost: '0.0125' } }, { 'ai.usage.inputTokens': 10 }).costUsd).toBe(0.0125);
    expect(read({ openrouter: { usage: { cost: 0.5 } } }, { 'ai.usage.inputTokens': 10 }).costUsd).toBe(0.5);
  });

  it.each([['{'], ['[]'], ['{"anthropic":7}'], ['{"anthropic":{"usage":{"input_tokens":-1}}}']])(
    'says nothing if it is %s',
    (sent) => {
      const tokens = tokensOf(
        new Map(Object.entries({ 'ai.usage.inputTokens': 10, 'ai.response.providerMetadata': sent })),
      );
      expect(tokens.usage).toEqual({ inputTokens: 10, totalTokens: 10 });
    },
  );
});
