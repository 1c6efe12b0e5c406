import { PriceTable } from '@agentlens/prices';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { AnswerWriter } from './calls/answer-writer.ts';
import { type AcceptedRequest, ModelCallPipeline } from './pipeline.ts';
import type { CallEvent } from './records/call-events.ts';
import { RefusedCall } from './refused-call.ts';

const REQUEST = {
  caller: {
    caller: { tenantId: 'acme', keyId: 'k' },
    key: 'key',
    agentId: 'bot',
    runId: 'run-1',
    sessionId: undefined,
  },
  connection: { name: 'openai', dialect: 'openai', provider: 'openai', models: undefined },
  endpoint: { kind: 'model', api: 'chat', path: '/chat/completions' },
  ...{ path: { rest: '' }, url: '/gw/openai/v1/chat/completions', headers: {} },
  body: Buffer.from('{"model":"gpt-4.1","messages":[{"role":"user","content":"What is it?"}]}'),
} as unknown as AcceptedRequest;

/** The records of a call whose forwarding fails so. */
async function recordsAfter(error: Error): Promise<readonly CallEvent[]> {
  const recorded: CallEvent[] = [];
  const parts = {
    admission: { require: async () => ({ decision: { id: 'd-1' } }) },
    board: { stateOf: () => ({ kind: 'none', modelOverride: null }) },
    clock: fixedClock(),
    connections: { findFallback: async () => undefined },
    forwarder: { forward: () => Promise.reject(error) },
    prices: { of: () => new PriceTable() },
    recorder: { isFull: false, recordCall: async (event: CallEvent) => void recorded.push(event) },
    results: { require: async () => undefined },
    runs: { requireOwn: async () => undefined },
  } as unknown as ConstructorParameters<typeof ModelCallPipeline>[0];
  const run = new ModelCallPipeline(parts).run(REQUEST, {} as AnswerWriter, new AbortController().signal);
  await expect(run).rejects.toBe(error);
  return recorded;
}

describe('a call that fails after it was admitted', () => {
  it('ends, so that its reservation does, and counts what the provider may bill', async () => {
    const [called, ended] = await recordsAfter(new TypeError('a bug'));
    expect(called?.eventType).toBe('llm_call');
    expect(ended).toMatchObject({
      eventType: 'llm_response',
      payload: {
        callId: called?.payload.callId,
        usageSource: 'estimated',
        usage: { inputTokens: 16, outputTokens: 0 },
      },
    });
  });

  it('ends without a cost if nothing was sent', async () => {
    const [, ended] = await recordsAfter(new RefusedCall('credential_rejected', 'credential_unreadable', 'No key'));
    expect(ended?.payload).toMatchObject({ outcome: 'error', usage: {}, stopCode: 'credential_unreadable' });
  });
});
