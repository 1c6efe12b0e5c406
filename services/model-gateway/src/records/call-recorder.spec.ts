import { agentEvents, type EventBatch } from '@agentlens/contracts';
import { BusUnavailable, type EncodedMessage } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { PriceTable } from '@agentlens/prices';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { CallEvent } from './call-events.ts';
import { CallRecorder } from './call-recorder.ts';

const NOW = '2026-11-28T12:00:00.000Z';

const EVENT: CallEvent = {
  tenantId: 'acme',
  id: 'call-1:ended',
  runId: 'run-1',
  agentId: 'bot',
  sessionId: 'session-1',
  eventType: 'llm_response',
  severity: 'info',
  payload: {
    callId: 'call-1',
    provider: 'openai',
    model: 'gpt-4.1',
    completion: null,
    finishReason: 'stop',
    usage: { inputTokens: 1_000, outputTokens: 10, totalTokens: 1_010 },
    usageSource: 'provider',
  },
  metadata: { via: 'gateway' },
  atMs: Date.parse(NOW),
};

/** A recorder on a bus that is away for the first attempts. */
function recorderAfter(failures: number) {
  const sent: EncodedMessage[] = [];
  let attempts = 0;
  const waits: number[] = [];
  const table = new PriceTable();
  const recorder = new CallRecorder({
    bus: {
      publishEncoded: async (_topic, message) => {
        sent.push(message);
        attempts += 1;
        if (attempts <= failures) throw new BusUnavailable('away', 100);
        return { sequence: attempts, duplicate: false };
      },
    },
    prices: { of: () => table },
    clock: fixedClock(NOW),
    logger: createLogger({ name: 'test', level: 'silent' }),
    wait: async (ms) => waits.push(ms),
  });
  return { recorder, sent, waits };
}

describe('the record of a model call', () => {
  it('is an event as ingest publishes it, with its price', async () => {
    const { recorder, sent } = recorderAfter(0);
    await recorder.recordCall(EVENT);
    const [message] = sent;
    if (message === undefined) throw new Error('nothing was published');
    const { tenantId, events } = agentEvents.schema.parse(
      JSON.parse(Buffer.from(message.body).toString()),
    ) as EventBatch;
    expect(tenantId).toBe('acme');
    expect(events).toMatchObject([
      {
        id: 'call-1:ended',
        runId: 'run-1',
        sessionId: 'session-1',
        kind: 'llm.completed',
        callId: 'call-1',
        usage: { inputTokens: 1_000, costSource: 'priced' },
      },
    ]);
  });

  it('is sent again under the same id while the broker is away', async () => {
    const { recorder, sent, waits } = recorderAfter(3);
    await recorder.recordCall(EVENT);
    expect(sent).toHaveLength(4);
    expect(new Set(sent.map(({ messageId }) => messageId)).size).toBe(1);
    expect(new Set(sent.map(({ body }) => Buffer.from(body).toString())).size).toBe(1);
    expect(waits).toHaveLength(3);
  });

  it('is given up when the service stops, without an error for the call', async () => {
    const { recorder, sent } = recorderAfter(Number.POSITIVE_INFINITY);
    const stopped = recorder.drain();
    await recorder.recordCall(EVENT);
    await stopped;
    expect(sent).toHaveLength(1);
  });
});
