import { describe, expect, it } from '@jest/globals';
import { noticesOf, type ReportedCall } from './run-notices.ts';

const call = (scope: string, startMs: number, endMs: number, more: Partial<ReportedCall> = {}): ReportedCall => ({
  agentId: 'shop',
  scope,
  startMs,
  endMs,
  ...more,
});

describe('the notices of a run', () => {
  it('name two instrumentations with overlapping calls and how many calls may count twice', () => {
    const calls = [
      ...[call('langchain', 0, 100), call('openai', 1, 99)],
      ...[call('openai', 201, 299), call('langchain', 200, 300)],
    ];
    const scopes = ['langchain', 'openai'];
    const notice = { kind: 'two_instrumentations', agentId: 'shop', scopes, mayCountTwice: 2 };
    expect(noticesOf(calls)).toEqual([notice]);
    expect(noticesOf(calls.toReversed())).toEqual([notice]);
  });

  it('name them even if the response id lets each call count once', () => {
    const calls = [call('openai', 0, 100), call('anthropic', 0, 100, { countedScope: 'openai' })];
    expect(noticesOf(calls)).toEqual([
      { kind: 'two_instrumentations', agentId: 'shop', scopes: ['anthropic', 'openai'], mayCountTwice: 0 },
    ]);
  });

  it.each<[string, readonly ReportedCall[]]>([
    ['one instrumentation with parallel calls', [call('openai', 0, 100), call('openai', 10, 90)]],
    ['one after the other', [call('openai', 0, 100), call('anthropic', 100, 200)]],
    ['two agents', [call('openai', 0, 100), call('anthropic', 10, 90, { agentId: 'other' })]],
    ['a span that one instrumentation sent twice', [call('openai', 0, 100, { countedScope: 'openai' })]],
    ['no call', []],
  ])('are empty for %s', (_, calls) => {
    expect(noticesOf(calls)).toEqual([]);
  });
});
