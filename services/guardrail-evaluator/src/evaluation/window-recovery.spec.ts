import { agentEvents, type EventBatch, HOUR_MS } from '@agentlens/contracts';
import type { Completeness } from '@agentlens/guardrails';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { aBatch, anEvent, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { WindowGap } from './window-gap.ts';
import { WindowRecovery } from './window-recovery.ts';

const clock = fixedClock();

let bus: EventBus;
let recounted: string[];
let said: number[];
let held: string;
let gap: WindowGap;

beforeEach(() => {
  bus = createMemoryBus();
  recounted = [];
  said = [];
  held = 'turn-1';
  gap = new WindowGap();
});
afterEach(() => bus.close());

function keeperOf(
  found: Completeness,
  recount?: (batches: readonly EventBatch[]) => Promise<void>,
  read: Pick<EventBus, 'watch' | 'envelopes'> = bus,
): WindowRecovery {
  return new WindowRecovery({
    marker: {
      adopt: async () => undefined,
      look: async () => found,
      holds: async (turn) => turn === held,
      recounted: async (turn, atMs) => turn === held && said.push(atMs) > 0,
    },
    evaluator: { recount: recount ?? (async (batches) => void recounted.push(...batches.map(({ id }) => id))) },
    gap,
    bus: read,
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
}

async function published(ageMs: number): Promise<string> {
  const batch = aBatch({ receivedAt: new Date(clock.now() - ageMs).toISOString(), events: [anEvent()] });
  await bus.publish(agentEvents, batch);
  return batch.id;
}

describe('WindowRecovery', () => {
  it('counts everything again that the stream holds, and says that nothing is missing', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 450; i++) ids.push(await published(HOUR_MS));
    await keeperOf({ kind: 'lost', turn: 'turn-1' }).look();
    expect(recounted.toSorted()).toEqual(ids.toSorted());
    expect(said).toEqual([0]);
    expect(gap.open).toBe(false);
  });

  it('looks no further back than the longest window reaches', async () => {
    for (let i = 0; i < 200; i++) await published(25 * HOUR_MS);
    for (let i = 0; i < 200; i++) await published(HOUR_MS);
    await published(0);
    await keeperOf({ kind: 'lost', turn: 'turn-1' }).look();
    expect(recounted).toHaveLength(250);
    expect(said).toEqual([0]);
  });

  it('says since when it counted where there was not enough time for more', async () => {
    for (let i = 0; i < 250; i++) await published(2 * HOUR_MS);
    for (let i = 0; i < 200; i++) await published(HOUR_MS);
    const since = clock.now() - HOUR_MS;
    await keeperOf({ kind: 'lost', turn: 'turn-1' }, async () => clock.advance(9_000)).look();
    expect(said).toEqual([since]);
    expect(gap.open).toBe(true);
  });

  it('does not take messages that nobody can read for the beginning of the stream', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 250; i++) ids.push(await published(HOUR_MS));
    const unreadable = new Set(ids.slice(100, 180));
    await keeperOf({ kind: 'lost', turn: 'turn-1' }, undefined, {
      envelopes: (topic, after, most) => bus.envelopes(topic, after, most),
      watch: (topic, options, handler) =>
        bus.watch(topic, options, (message) => {
          if (!unreadable.has(message.messageId)) handler(message);
        }),
    }).look();
    expect(recounted.toSorted()).toEqual(ids.filter((id) => !unreadable.has(id)).toSorted());
    expect(said).toEqual([0]);
  });

  it('stops, and calls nothing complete, where the windows are lost once more meanwhile', async () => {
    for (let i = 0; i < 200; i++) await published(HOUR_MS);
    await keeperOf({ kind: 'lost', turn: 'turn-1' }, async (batches) => {
      recounted.push(...batches.map(({ id }) => id));
      held = 'turn-2';
    }).look();
    expect([recounted.length, said, gap.open]).toEqual([50, [], true]);
  });

  it('takes all windows for degraded while somebody else counts, and what that one says afterwards', async () => {
    await keeperOf({ kind: 'recounting' }).look();
    expect([gap.open, recounted]).toEqual([true, []]);
    await keeperOf({ kind: 'since', atMs: 0 }).look();
    expect(gap.open).toBe(false);
  });

  it('says nothing where counting failed: its turn ends by itself', async () => {
    await published(0);
    await keeperOf({ kind: 'lost', turn: 'turn-1' }, () => Promise.reject(new Error('away'))).look();
    expect(said).toEqual([]);
    expect(gap.open).toBe(true);
  });
});
