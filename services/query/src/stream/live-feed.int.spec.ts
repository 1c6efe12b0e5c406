import { agentEvents, guardrailTriggered } from '@agentlens/contracts';
import { connectNatsBus, type EventBus } from '@agentlens/messaging';
import { parsePosition } from '@agentlens/operations';
import type { StreamFrame } from '@agentlens/platform';
import { aBatch, anEvent, aTrigger, eventually, startNats, type TestServer } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LiveFeed } from './live-feed.ts';
import { SessionUpdates } from './session-updates.ts';

let nats: TestServer;
let one: EventBus;
let other: EventBus;

beforeAll(async () => {
  nats = await startNats();
  one = await connectNatsBus({ servers: nats.url, name: 'query-1' });
  other = await connectNatsBus({ servers: nats.url, name: 'query-2' });
});
afterAll(async () => {
  await one.close();
  await other.close();
  await nats.stop();
});

async function openFeed(bus: EventBus, lastEventId?: string) {
  const frames: StreamFrame[] = [];
  const feed = new LiveFeed({
    bus,
    tenantId: 'acme',
    filter: {},
    resume: (lastEventId === undefined ? null : parsePosition(lastEventId)) ?? undefined,
    // Only record frames need this; stream.int.spec.ts covers them.
    record: { follow: () => Promise.reject(new Error('not asked for')) },
    updates: new SessionUpdates({
      read: async () => [],
      show: () => undefined,
      onError: () => undefined,
      onDropped: () => undefined,
    }),
    emit: (frame) => frames.push(frame),
  });
  await feed.open();
  return { feed, frames };
}

const publish = (...ids: string[]) => one.publish(agentEvents, aBatch({ events: ids.map((id) => anEvent({ id })) }));
const shownSorted = (frames: readonly StreamFrame[]) => shown(frames).toSorted((a = '', b = '') => a.localeCompare(b));
const shown = (frames: readonly StreamFrame[]) =>
  frames.map((frame) => {
    const data = frame.data as { id?: string; triggerId?: string };
    return data.id ?? data.triggerId;
  });

describe('a feed on a broker with several instances', () => {
  it('starts now and shows on every instance what any instance publishes', async () => {
    await publish('before');
    const feeds = [await openFeed(one), await openFeed(other)];
    await publish('e1', 'e2');
    for (const { feed, frames } of feeds) {
      await eventually(() => expect(shown(frames)).toEqual(['e1', 'e2']));
      await feed.close();
    }
  });

  it('resumes on another instance, in the middle of a batch, without gap or repetition', async () => {
    const first = await openFeed(one);
    await publish('f1', 'f2', 'f3');
    await eventually(() => expect(first.frames).toHaveLength(3));
    await first.feed.close();
    await publish('f4');
    await one.publish(guardrailTriggered, aTrigger({ id: 't1' }));
    const resumed = await openFeed(other, first.frames[1]?.id);
    await publish('f5');
    await eventually(() => expect(shownSorted(resumed.frames)).toEqual(['f3', 'f4', 'f5', 't1']));
    await resumed.feed.close();
  });

  it('can be resumed from its start if it has not shown a frame yet', async () => {
    const first = await openFeed(one);
    const began = first.feed.frameId;
    await first.feed.close();
    await publish('g1');
    await one.publish(guardrailTriggered, aTrigger({ id: 't2' }));
    const resumed = await openFeed(other, began);
    await eventually(() => expect(shownSorted(resumed.frames)).toEqual(['g1', 't2']));
    await resumed.feed.close();
  });
});
