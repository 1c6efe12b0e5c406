import { agentEvents, GROUPS } from '@agentlens/contracts';
import { ACK, createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { aBatch, eventually, type FixedClock, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Admission } from './admission.ts';

const TICK_MS = 250;
const EVENTS_PER_MESSAGE = 100;

describe('Admission', () => {
  let clock: FixedClock;
  let bus: EventBus;
  let admission: Admission;
  /** Settles one message each, in the order in which they were handed out. */
  let inHand: (() => void)[];
  let settled: number;

  beforeEach(async () => {
    clock = fixedClock();
    bus = createMemoryBus({ clock, drainMs: 0 });
    admission = new Admission(bus, clock, createLogger({ name: 'test', level: 'silent' }));
    inHand = [];
    settled = 0;
    await bus.consume(agentEvents, { group: GROUPS.guardrailEvaluator, concurrency: 1_000 }, async (messages) => {
      await new Promise<void>((resolve) => inHand.push(resolve));
      settled += messages.length;
      return messages.map(() => ACK);
    });
  });

  afterEach(async () => {
    for (const settle of inHand) settle();
    await bus.close();
  });

  /** As many messages come in and are settled, the newest of them or the oldest; then the clock goes on. */
  async function tick(coming: number, newest: number, oldest = 0): Promise<void> {
    const handedOut = inHand.length + coming;
    for (let i = 0; i < coming; i++) void bus.publish(agentEvents, aBatch());
    await eventually(() => expect(inHand.length).toBe(handedOut));
    const settling = [...inHand.splice(handedOut - newest), ...inHand.splice(0, oldest)];
    const due = settled + settling.length;
    for (const settle of settling) settle();
    await eventually(() => expect(settled).toBe(due));
    admission.admit('acme', coming * EVENTS_PER_MESSAGE);
    clock.advance(TICK_MS);
    await admission.tick();
  }

  it('turns nobody away for a few messages that a dead replica held, nor while they come back', async () => {
    const levels = new Set<number>();
    for (let i = 0; i < 8; i++) await tick(20, 19);
    for (let i = 0; i < 20; i++) {
      await tick(20, 20, i >= 8 ? 1 : 0);
      levels.add(admission.level);
    }
    expect([...levels]).toEqual([Number.POSITIVE_INFINITY]);
  });

  it('turns tenants away where more comes than is settled, although the newest are', async () => {
    for (let i = 0; i < 12; i++) await tick(20, 10);
    expect(admission.level).toBeLessThan((20 * EVENTS_PER_MESSAGE * 1_000) / TICK_MS);
  });
});
