import { describe, expect, it } from '@jest/globals';
import { readCall } from './model-call.ts';
import { tokensOf } from './tokens.ts';

const read = (attributes: Record<string, unknown>) => tokensOf(new Map(Object.entries(attributes)));

describe('tokens', () => {
  it.each([
    ['gen_ai', 'gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens'],
    ['older gen_ai', 'gen_ai.usage.prompt_tokens', 'gen_ai.usage.completion_tokens'],
    ['OpenInference', 'llm.token_count.prompt', 'llm.token_count.completion'],
    ['AI SDK', 'ai.usage.inputTokens', 'ai.usage.outputTokens'],
    ['AI SDK 5', 'ai.usage.promptTokens', 'ai.usage.completionTokens'],
  ])('of %s', (_, input, output) => {
    expect(read({ [input]: 100, [output]: 20 }).usage).toEqual({
      inputTokens: 100,
      outputTokens: 20,
      totalTokens: 120,
    });
  });

  it.each([
    ['gen_ai.usage.cache_read.input_tokens', 'gen_ai.usage.cache_write.input_tokens'],
    ['gen_ai.usage.cache_read_input_tokens', 'gen_ai.usage.cache_creation.input_tokens'],
    ['llm.token_count.prompt_details.cache_read', 'llm.token_count.prompt_details.cache_write'],
    ['ai.usage.inputTokenDetails.cacheReadTokens', 'ai.usage.inputTokenDetails.cacheWriteTokens'],
    ['ai.usage.cachedInputTokens', 'gen_ai.usage.cache_creation_input_tokens'],
  ])('are cached with %s and %s', (cacheRead, cacheWrite) => {
    const { usage } = read({ 'gen_ai.usage.input_tokens': 100, [cacheRead]: 60, [cacheWrite]: 10 });
    expect(usage).toEqual({ inputTokens: 100, totalTokens: 100, cacheReadTokens: 60, cacheWriteTokens: 10 });
  });

  it.each([
    ['gen_ai.usage.details.cache_read_tokens', 'gen_ai.usage.details.cache_write_tokens'],
    ['gen_ai.usage.prompt_tokens_details.cached_tokens', 'gen_ai.usage.prompt_tokens_details.cache_creation_tokens'],
    ['gen_ai.usage.input_tokens_details.cached_tokens', 'gen_ai.usage.input_tokens_details.cache_write_tokens'],
  ])('are cached with the names of a framework, %s and %s', (cacheRead, cacheWrite) => {
    const { usage } = read({ 'gen_ai.usage.input_tokens': 100, [cacheRead]: 60, [cacheWrite]: 10 });
    expect(usage).toEqual({ inputTokens: 100, totalTokens: 100, cacheReadTokens: 60, cacheWriteTokens: 10 });
  });

  it.each([
    ['openinference.instrumentation.agno', {}, 'claude-sonnet-4-5', 800],
    ['openinference.instrumentation.agno', {}, 'gpt-4o', 500],
    ['openlit.otel.tracing', {}, 'claude-sonnet-4-5', 800],
    ['any', { 'telemetry.sdk.name': 'openlit' }, 'claude-sonnet-4-5', 800],
    ['opentelemetry.instrumentation.bedrock', {}, 'amazon.nova-pro-v1:0', 800],
    ['openinference.instrumentation.anthropic', {}, 'claude-sonnet-4-5', 500],
  ])('cached in the span of %s %j with %s count as %i', (scope, resource, model, input) => {
    const attributes = new Map(
      Object.entries({
        ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model, 'gen_ai.usage.output_tokens': 5 },
        ...{ 'gen_ai.usage.input_tokens': 500, 'gen_ai.usage.cache_read.input_tokens': 300 },
      }),
    );
    const { tokens } = readCall({
      ...{ traceId: 'a', spanId: 'b', parentSpanId: undefined, name: 'chat', startMs: 0, endMs: 1, durationMs: 1 },
      ...{ attributes, events: [], linkedTraceIds: [], failed: false, statusMessage: '', droppedAttributes: 0 },
      ...{ resource: { attributes: new Map(Object.entries(resource)) }, scope: { name: scope, version: '' } },
    });
    expect(tokens.usage?.inputTokens).toBe(input);
  });

  it('have the cost of LiteLLM', () => {
    expect(read({ 'gen_ai.cost.total_cost': 0.0007125 }).costUsd).toBe(0.0007125);
  });

  it("are cached in LangSmith's JSON text", () => {
    const details = JSON.stringify({ input_tokens: 100, input_token_details: { cache_read: 60 } });
    const tokens = read({ 'gen_ai.usage.input_tokens': 100, 'langsmith.metadata.usage_metadata': details });
    expect(tokens.usage?.cacheReadTokens).toBe(60);
  });

  it('are read once if they are sent under two names', () => {
    const { usage } = read({ 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.prompt_tokens': 100 });
    expect(usage?.inputTokens).toBe(100);
  });

  it('cached in addition to the input are added to it, and reported', () => {
    expect(read({ 'gen_ai.usage.input_tokens': 20, 'gen_ai.usage.cache_read.input_tokens': 80 })).toMatchObject({
      usage: { inputTokens: 100, cacheReadTokens: 80, totalTokens: 100 },
      repaired: true,
    });
  });

  it.each([
    ['summed over an agent', { 'gen_ai.aggregated_usage.input_tokens': 100 }],
    ['that are not a number', { 'gen_ai.usage.input_tokens': 'many' }],
    ['below zero', { 'gen_ai.usage.input_tokens': -1 }],
    ['beyond belief', { 'gen_ai.usage.input_tokens': 1e15 }],
    ['not reported', {}],
  ])('%s are ignored', (_, attributes) => {
    expect(read(attributes).usage).toBeUndefined();
  });

  it.each([
    ['a number', 0.25],
    ['its digits', '0.25'],
  ])('have the cost sent as %s', (_, sent) => {
    expect(read({ 'operation.cost': sent }).costUsd).toBe(0.25);
  });

  it('keep a total that differs from the sum separately', () => {
    const tokens = read({
      'gen_ai.usage.input_tokens': 1,
      'gen_ai.usage.output_tokens': 2,
      'llm.usage.total_tokens': 9,
    });
    expect(tokens).toMatchObject({ usage: { totalTokens: 3 }, sentTotal: 9 });
  });
});
