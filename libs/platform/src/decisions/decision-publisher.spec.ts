import type { Decision, Topic } from '@agentlens/contracts';
import { BusUnavailable, type PublishAck } from '@agentlens/messaging';
import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '../log/create-logger.ts';
import { DecisionPublisher, keptCall, type PublisherLimits } from './decision-publisher.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const aDecision = (id: string): Decision => ({
  ...{ id, tenantId: 'acme', agentId: 'a', runId: 'r', phase: 'tool.before', verdict: 'ALLOW', control: 'CONTINUE' },
  ...{
    effect: 'allow',
    cause: { kind: 'ALLOW' },
    message: '',
    evaluatedRules: [],
    bypasses: [],
    modifiedArgs: { x: 1 },
  },
  ...{ inputsDigest: '', latencyMs: 0, decidedAt: '2026-03-01T12:00:00.000Z' },
});

/** A publisher whose broker can be unavailable. */
function publisherOn(limits: PublisherLimits = {}) {
  const sent: Decision[] = [];
  const broker = { away: false };
  let dropped = 0;
  const bus = {
    publish: async <T>(_: Topic<T>, message: T): Promise<PublishAck> => {
      if (broker.away) throw new BusUnavailable('away', 1);
      if ((message as Decision).id.startsWith('poison')) throw new Error('too large');
      sent.push(message as Decision);
      return { sequence: sent.length, duplicate: false };
    },
  };
  const metrics = { dropped: (count = 1) => (dropped += count) };
  const publisher = new DecisionPublisher(bus, metrics, logger, { gatherMs: 1, retryMs: 5, drainMs: 50, ...limits });
  return { publisher, sent, broker, dropped: () => dropped };
}

describe('DecisionPublisher', () => {
  it('publishes everything that was offered before it stops, without the modified arguments', async () => {
    const { publisher, sent, dropped } = publisherOn();
    for (let i = 0; i < 100; i++) publisher.offer(aDecision(`d${i}`));
    await publisher.drain();
    expect(new Set(sent.map(({ id }) => id)).size).toBe(100);
    expect(sent[0]).not.toHaveProperty('modifiedArgs');
    expect(dropped()).toBe(0);
  });

  it('gathers decisions for a moment, and sends at once when there are enough', async () => {
    const few = publisherOn({ gatherMs: 60_000 });
    for (let i = 0; i < 31; i++) few.publisher.offer(aDecision(`d${i}`));
    expect(few.sent).toEqual([]);
    few.publisher.offer(aDecision('d31'));
    expect(few.sent).toHaveLength(32);
    few.publisher.offer(aDecision('d32'));
    await few.publisher.drain();
    expect(few.sent).toHaveLength(33);
    expect(few.dropped()).toBe(0);
  });

  it('continues when the broker is back', async () => {
    const { publisher, sent, broker, dropped } = publisherOn();
    broker.away = true;
    for (let i = 0; i < 10; i++) publisher.offer(aDecision(`d${i}`));
    broker.away = false;
    await eventually(() => expect(new Set(sent.map(({ id }) => id)).size).toBe(10));
    expect(dropped()).toBe(0);
    await publisher.drain();
  });

  it('drops and counts a decision that the bus refuses, and publishes the others', async () => {
    const { publisher, sent, dropped } = publisherOn();
    for (const id of ['d0', 'poison', 'd1']) publisher.offer(aDecision(id));
    await eventually(() => expect(sent.map(({ id }) => id).toSorted()).toEqual(['d0', 'd1']));
    await publisher.drain();
    expect(dropped()).toBe(1);
  });

  it('counts drops: the oldest over the capacity, and the rest at shutdown', async () => {
    const { publisher, broker, dropped } = publisherOn({ maxWaiting: 5 });
    broker.away = true;
    for (let i = 0; i < 8; i++) publisher.offer(aDecision(`d${i}`));
    expect(dropped()).toBe(3);
    await publisher.drain();
    expect(dropped()).toBe(8);
  });
});

describe('the arguments stored with a decision', () => {
  it('are redacted, and omitted if the tenant does not store them', () => {
    const args = { to: 'ann@example.com', amount: 5 };
    expect(keptCall({ args, keepsArguments: true })).toEqual({ arguments: { to: '[email]', amount: 5 } });
    expect(keptCall({ args, keepsArguments: false })).toEqual({});
    expect(keptCall({ args })).toEqual({});
    expect(keptCall({ args: undefined, keepsArguments: true })).toEqual({});
  });

  it('of a large call are truncated, with their length', () => {
    const { argumentsCut, ...rest } = keptCall({ args: { text: 'ä'.repeat(10_000) }, keepsArguments: true });
    expect(rest).toEqual({});
    expect(argumentsCut).toMatchObject({ bytes: 20_011, start: expect.stringMatching(/^\{"text":"ä+$/) });
  });
});
