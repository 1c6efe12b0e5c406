import { agentEvents, GROUPS } from '@agentlens/contracts';
import { ACK, createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { aBatch, eventually, type FixedClock, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FairShare } from './fair-share.ts';
import { LoadMonitor } from './load-control.ts';

const TICK_MS = 250;
const EVENTS_PER_MESSAGE = 100;

/** Publishes `coming` messages, settles the `newest` and `oldest` ones, then advances the clock. */
type Tick = (coming: number, newest: number, oldest?: number) => Promise<void>;

describe('LoadMonitor', () => {
  let clock: FixedClock;
  let bus: EventBus;
  let shares: FairShare;
  let monitor: LoadMonitor;
  /** Callbacks that settle one message each, in the order in which the messages were delivered. */
  let inHand: (() => void)[];
  let published: number;
  let settled: number;
  let isOver: boolean;

  beforeEach(() => {
    clock = fixedClock();
    bus = createMemoryBus({ clock, drainMs: 0 });
    shares = new FairShare();
    monitor = new LoadMonitor(shares, bus, clock, createLogger({ name: 'test', level: 'silent' }));
    inHand = [];
    [published, settled] = [0, 0];
    isOver = false;
  });

  afterEach(async () => {
    isOver = true;
    for (const settle of inHand) settle();
    await eventually(() => expect(settled).toBe(published));
    await bus.close();
  });

  /** Starts evaluators that hold this many messages at once. */
  async function evaluate(atOnce: number): Promise<Tick> {
    await bus.consume(agentEvents, { group: GROUPS.guardrailEvaluator, concurrency: atOnce }, async (messages) => {
      if (!isOver) await new Promise<void>((resolve) => inHand.push(resolve));
      settled += messages.length;
      return messages.map(() => ACK);
    });
    return async (coming, newest, oldest = 0) => {
      for (let i = 0; i < coming; i++) void bus.publish(agentEvents, aBatch());
      published += coming;
      await eventually(() => expect(inHand.length).toBe(Math.min(published - settled, atOnce)));
      const settling = [...inHand.splice(inHand.length - newest), ...inHand.splice(0, oldest)];
      const due = settled + settling.length;
      for (const settle of settling) settle();
      await eventually(() => expect(settled).toBe(due));
      shares.admit('acme', coming * EVENTS_PER_MESSAGE, clock.now());
      clock.advance(TICK_MS);
      await monitor.tick();
    };
  }

  it('rejects nothing because of a few messages that a dead replica held, nor while they are redelivered', async () => {
    const tick = await evaluate(1_000);
    const levels = new Set<number>();
    for (let i = 0; i < 8; i++) await tick(20, 19);
    for (let i = 0; i < 20; i++) {
      await tick(20, 20, i >= 8 ? 1 : 0);
      levels.add(shares.level);
    }
    expect([...levels]).toEqual([Number.POSITIVE_INFINITY]);
  });

  it('rejects nothing because of messages that arrived while the only evaluator had a dead connection', async () => {
    const tick = await evaluate(1_000);
    const levels = new Set<number>();
    for (let i = 0; i < 24; i++) {
      await tick(20, i < 12 ? 0 : 20);
      levels.add(shares.level);
    }
    expect([...levels]).toEqual([Number.POSITIVE_INFINITY]);
  });

  it('rejects tenants if more messages arrive than are settled, even if the newest ones are settled', async () => {
    const tick = await evaluate(50);
    for (let i = 0; i < 16; i++) await tick(20, 10);
    expect(shares.level).toBeLessThan((20 * EVENTS_PER_MESSAGE * 1_000) / TICK_MS);
  });
});
