import { PriceTable } from '@agentlens/prices';
import { describe, expect, it } from '@jest/globals';
import type { CallOutcome, GatewayCall } from '../gateway-call.ts';
import { writeEnded } from './call-report.ts';

/** The payload of a call of gpt-4.1 whose provider names the model so in its answer. */
function endedAs(model: string) {
  const call = { id: 'gw-1', model: 'gpt-4.1', connection: { name: 'eu', provider: 'openai' }, startedAtMs: 0 };
  const answer = { model, usage: { inputTokens: 10, outputTokens: 5 }, usageSource: 'provider', toolCalls: [] };
  const outcome = { kind: 'completed', status: 200, answer } as unknown as CallOutcome;
  const forwarded = { call: call as unknown as GatewayCall, outcome, failed: undefined };
  return writeEnded(forwarded, 1, Date.parse('2026-11-28T12:00:00.000Z'), new PriceTable()).payload;
}

describe('the record of an ended call', () => {
  it.each(['gpt-4.1-2025-04-14', 'gpt-4o'])('has the model of the answer if that has a price: %s', (model) => {
    expect(endedAs(model)).toMatchObject({ model });
  });

  it('has the model of the request if only that has a price', () => {
    expect(endedAs('/data/deployment-7')).toMatchObject({ model: 'gpt-4.1', answeredModel: '/data/deployment-7' });
  });
});
