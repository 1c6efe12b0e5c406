import { agentEvents, type EventBatch, eventBatchHeaders, factsOfBatch } from '@agentlens/contracts';
import { aBatch } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { ACK, type HandlingOutcome, type Received, SILENT, UnreadableMessage } from '../event-bus.ts';
import { BusMetrics } from '../util/telemetry.ts';
import { BatchRunner, type BrokerDelivery } from './batch-runner.ts';

/** A delivery that records how it was settled. */
function aDelivery(body: string, headers: Readonly<Record<string, string>>) {
  const settled: string[] = [];
  const delivery: BrokerDelivery = {
    raw: Buffer.from(body),
    subject: 'agent.events.00.acme',
    messageId: 'm-1',
    attempt: 1,
    sequence: 1,
    publishedAtMs: 0,
    headers,
    ack: () => settled.push('ack'),
    retry: () => settled.push('retry'),
    discard: () => settled.push('discard'),
  };
  return { delivery, settled };
}

function lazyRunner(handle: (message: Received<EventBatch>) => HandlingOutcome): BatchRunner<EventBatch> {
  return new BatchRunner({
    system: 'memory',
    topic: agentEvents,
    group: 'group',
    handler: async (messages) => messages.map(handle),
    storeDeadLetter: async () => {},
    metrics: new BusMetrics(),
    logger: SILENT,
    now: () => 0,
    lazy: true,
  });
}

const summed = eventBatchHeaders(factsOfBatch(aBatch()));

describe('a lazy consumer', () => {
  it('receives a summarized message without parsing its body', async () => {
    const { delivery, settled } = aDelivery('not JSON', summed);
    await lazyRunner(() => ACK).run([delivery]);
    expect(settled).toEqual(['ack']);
  });

  it('throws on reading the value if a summarized message is not valid', async () => {
    const { delivery } = aDelivery('not JSON', summed);
    let thrown: unknown;
    const runner = lazyRunner((message) => {
      try {
        void message.value;
      } catch (error) {
        thrown = error;
      }
      return ACK;
    });
    await runner.run([delivery]);
    expect(thrown).toEqual(new UnreadableMessage('not JSON (topic agent.events)'));
  });

  it('never receives an invalid message without a summary', async () => {
    const { delivery, settled } = aDelivery('not JSON', {});
    let seen = 0;
    const runner = lazyRunner(() => {
      seen += 1;
      return ACK;
    });
    await runner.run([delivery]);
    expect({ seen, settled }).toEqual({ seen: 0, settled: ['discard'] });
  });
});
