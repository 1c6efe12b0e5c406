import { agentEvents, type EventBatch } from '@agentlens/contracts';
import { createMemoryBus, type EventBus, encodeMessage, type Subscription } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { aBatch, eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AgentEventsConsumer } from './agent-events.consumer.ts';
import { EVENTS } from './evaluation.controller.ts';

const logger = createLogger({ name: 'test', level: 'silent' });

let bus: EventBus;
let consumed: Subscription;
let evaluated: string[];
let counted: string[];

const evaluator = {
  begin: (batches: readonly EventBatch[]) => {
    evaluated.push(...batches.map(({ id }) => id));
    return { measured: Promise.resolve(), done: batches.map(() => Promise.resolve()) };
  },
  evaluate: async ({ id }: EventBatch) => void evaluated.push(id),
};

beforeEach(async () => {
  bus = createMemoryBus();
  [evaluated, counted] = [[], []];
  const consumer = new AgentEventsConsumer(evaluator, [async ({ id }) => void counted.push(id)], logger);
  consumed = await bus.consume(agentEvents, EVENTS, (messages) => consumer.take(messages));
});
afterEach(async () => {
  await consumed.close();
  await bus.close();
});

describe('AgentEventsConsumer', () => {
  it('evaluates and counts each batch', async () => {
    const batch = aBatch();
    await bus.publish(agentEvents, batch);
    await eventually(() => expect([evaluated, counted]).toEqual([[batch.id], [batch.id]]));
  });

  it('dead-letters a message whose events cannot be read and continues with the others', async () => {
    const [bad, good] = [aBatch(), aBatch()];
    await bus.publishEncoded(agentEvents, { ...encodeMessage(agentEvents, bad), body: Buffer.from('{"events":[') });
    await bus.publish(agentEvents, good);
    await eventually(async () => {
      expect(await bus.deadLetters(EVENTS.group)).toMatchObject([{ messageId: bad.id, attempts: 1 }]);
    });
    await eventually(() => expect(counted).toEqual([good.id]));
    expect(evaluated).toEqual([good.id]);
  });
});
