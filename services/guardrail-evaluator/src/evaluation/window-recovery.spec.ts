import { agentEvents, type EventBatch, HOUR_MS, MINUTE_MS } from '@agentlens/contracts';
import type { Completeness, Series } from '@agentlens/guardrails';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { aBatch, anEvent, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { WindowGap, WindowRecovery } from './window-recovery.ts';

const clock = fixedClock();

let bus: EventBus;
let recounted: string[];
let reported: number[];
let held: string;
let gap: WindowGap;

beforeEach(() => {
  bus = createMemoryBus();
  recounted = [];
  reported = [];
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
      recounted: async (turn, atMs) => turn === held && reported.push(atMs) > 0,
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
  it('recounts everything in the stream and reports that nothing is missing', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 450; i++) ids.push(await published(HOUR_MS));
    await keeperOf({ kind: 'lost', turn: 'turn-1' }).look();
    expect(recounted.toSorted()).toEqual(ids.toSorted());
    expect(reported).toEqual([0]);
    expect(gap.open).toBe(false);
  });

  it('goes back no further than the longest window', async () => {
    for (let i = 0; i < 200; i++) await published(25 * HOUR_MS);
    for (let i = 0; i < 200; i++) await published(HOUR_MS);
    await published(0);
    await keeperOf({ kind: 'lost', turn: 'turn-1' }).look();
    expect(recounted).toHaveLength(250);
    expect(reported).toEqual([0]);
  });

  it('reports the time since which it counted if it ran out of time', async () => {
    for (let i = 0; i < 250; i++) await published(2 * HOUR_MS);
    for (let i = 0; i < 200; i++) await published(HOUR_MS);
    const since = clock.now() - HOUR_MS;
    await keeperOf({ kind: 'lost', turn: 'turn-1' }, async () => clock.advance(9_000)).look();
    expect(reported).toEqual([since]);
    expect(gap.open).toBe(true);
  });

  it('does not mistake unreadable messages for the start of the stream', async () => {
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
    expect(reported).toEqual([0]);
  });

  it('stops without reporting completeness if the windows are lost again during the recount', async () => {
    for (let i = 0; i < 200; i++) await published(HOUR_MS);
    await keeperOf({ kind: 'lost', turn: 'turn-1' }, async (batches) => {
      recounted.push(...batches.map(({ id }) => id));
      held = 'turn-2';
    }).look();
    expect([recounted.length, reported, gap.open]).toEqual([50, [], true]);
  });

  it('treats all windows as degraded while another evaluator recounts, then uses its result', async () => {
    await keeperOf({ kind: 'recounting' }).look();
    expect([gap.open, recounted]).toEqual([true, []]);
    await keeperOf({ kind: 'since', atMs: 0 }).look();
    expect(gap.open).toBe(false);
  });

  it('reports nothing if the recount failed, and lets its lease expire', async () => {
    await published(0);
    await keeperOf({ kind: 'lost', turn: 'turn-1' }, () => Promise.reject(new Error('away'))).look();
    expect(reported).toEqual([]);
    expect(gap.open).toBe(true);
  });
});

const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
const sliding = (minutes: number): Series => ({ metric: 'm', span: { kind: 'sliding', minutes }, shape: 'sum' });

describe('WindowGap', () => {
  it('is closed while everything is counted', () => {
    expect(new WindowGap().reason([sliding(1_440)], NOW_MS)).toBeNull();
  });

  it('affects windows that reach back beyond what is counted, until they have moved on', () => {
    const gap = new WindowGap();
    gap.countedSince(NOW_MS - 20 * MINUTE_MS);
    expect(gap.reason([sliding(10)], NOW_MS)).toBeNull();
    expect(gap.reason([sliding(10), sliding(60)], NOW_MS)).toContain('degraded until 2026-03-01T12:40:00.000Z');
    expect(gap.reason([sliding(60)], NOW_MS + 41 * MINUTE_MS)).toBeNull();
    expect(gap.reason([{ ...sliding(1), span: { kind: 'day', day: '2026-03-01' } }], NOW_MS)).not.toBeNull();
    expect(gap.reason([{ ...sliding(1), span: { kind: 'day', day: '2026-03-02' } }], NOW_MS)).toBeNull();
  });
});
