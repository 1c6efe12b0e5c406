import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { EventPublisher } from './event-publisher.ts';

function aGate() {
  const ways: string[] = [];
  const note = (way: string) => async () => void ways.push(way);
  const publisher = { saturated: false, oldestMs: 0, publish: note('by itself'), drain: note('drain') };
  const coalescer = { add: note('shared'), flush: () => undefined };
  return { gate: new EventPublisher(publisher, coalescer, () => 0), ways };
}

const events = (count: number) => Array.from({ length: count }, () => ({ event: anEvent(), json: '{}', bytes: 2 }));

describe('EventGate', () => {
  it.each([
    [undefined, 1, 'shared'],
    [undefined, 100, 'shared'],
    [undefined, 499, 'shared'],
    [undefined, 500, 'by itself'],
    ['key', 99, 'shared'],
    ['key', 100, 'by itself'],
  ])('publishes a request under the key %p of %i events %s', async (key, count, way) => {
    const { gate, ways } = aGate();
    await gate.pass({ tenantId: 'acme', key, receivedAtMs: 0, ids: String }, events(count));
    expect(ways).toEqual([way]);
  });
});
