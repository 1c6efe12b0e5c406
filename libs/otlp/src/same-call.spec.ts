import { describe, expect, it } from '@jest/globals';
import { isSameCall, type TracedCall } from './same-call.ts';

const client: TracedCall = {
  ...{ traceId: 'a', spanId: '1', parentSpanId: undefined, scope: 'client', generation: 'gen_ai' },
  ...{ startMs: 1_000, endMs: 2_000, responseId: undefined, model: 'gpt-4o-2024-08-06' },
  ...{ inputTokens: 100, outputTokens: 20 },
};
const framework: TracedCall = {
  ...client,
  ...{ spanId: '2', scope: 'framework', generation: 'openinference', startMs: 990, endMs: 2_010, model: 'gpt-4o' },
};
const elsewhere = { ...framework, traceId: 'b' };

describe('two spans report one model call', () => {
  it.each<[string, TracedCall, TracedCall]>([
    ['with one id in one trace', { ...client, responseId: 'r' }, { ...client, spanId: '3', responseId: 'r' }],
    ['if one is directly inside the other', { ...client, parentSpanId: '2', inputTokens: 7 }, framework],
    ['at the same time with equal tokens, in two traces', client, elsewhere],
    [
      'with one id, at the same time, if one lacks tokens',
      { ...client, responseId: 'r' },
      { ...elsewhere, responseId: 'r', inputTokens: 0, outputTokens: 0 },
    ],
    [
      'with one id, at the same time, if one counts a token twice',
      { ...client, responseId: 'r' },
      { ...elsewhere, responseId: 'r', outputTokens: 21 },
    ],
  ])('%s', (_, one, other) => {
    expect([isSameCall(one, other), isSameCall(other, one)]).toEqual([true, true]);
  });
});

describe('two spans report two model calls', () => {
  it.each<[string, TracedCall, TracedCall]>([
    ['of one instrumentation with equal tokens', client, { ...client, spanId: '3' }],
    [
      'of one instrumentation with equal ids in two traces',
      { ...client, responseId: 'r' },
      { ...client, traceId: 'b', responseId: 'r' },
    ],
    ['one after the other', client, { ...elsewhere, startMs: 1_900, endMs: 2_900 }],
    ['with different ids', { ...client, responseId: 'r' }, { ...elsewhere, responseId: 's' }],
    ['with different tokens', client, { ...elsewhere, outputTokens: 21 }],
    ['of different models', client, { ...elsewhere, model: 'claude-sonnet-4-5' }],
    [
      'without tokens',
      { ...client, inputTokens: 0, outputTokens: 0 },
      { ...elsewhere, inputTokens: 0, outputTokens: 0 },
    ],
  ])('%s', (_, one, other) => {
    expect([isSameCall(one, other), isSameCall(other, one)]).toEqual([false, false]);
  });
});
