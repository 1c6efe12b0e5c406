import { agentEvents, guardrailTriggered } from '@agentlens/contracts';
import { aBatch, aTrigger, eventually, fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { eventBusContract } from '../contract/event-bus.contract.ts';
import { gate, recorder } from '../contract/harness.contract.ts';
import { ACK, BusUnavailable } from '../event-bus.ts';
import { createMemoryBus } from './memory-bus.ts';

eventBusContract('memory', async () => {
  const bus = createMemoryBus({ backOffMs: [5, 10] });
  return { bus, replica: async () => bus, stop: () => bus.close() };
});

describe('memory bus', () => {
  it('resolves a publish only when every group has settled the message', async () => {
    const bus = createMemoryBus();
    const release = gate();
    const settled: string[] = [];
    await bus.consume(agentEvents, { group: 'fast' }, async (messages) => messages.map(() => ACK));
    await bus.consume(agentEvents, { group: 'slow' }, async (messages) => {
      await release.opened;
      settled.push('slow');
      return messages.map(() => ACK);
    });
    const batch = aBatch();
    const sent = bus.publish(agentEvents, batch).then(() => settled.push('published'));
    const again = bus.publish(agentEvents, batch).then((ack) => settled.push(`duplicate ${ack.duplicate}`));
    release.open();
    await Promise.all([sent, again]);
    expect(settled).toEqual(['slow', 'published', 'duplicate true']);
    await bus.close();
  });

  it('rejects a publish at its deadline, keeps the message, and treats the retry as a duplicate', async () => {
    const bus = createMemoryBus();
    const release = gate();
    const group = recorder(async () => {
      await release.opened;
      return ACK;
    });
    await bus.consume(guardrailTriggered, { group: 'stuck' }, group.handler);
    const trigger = aTrigger();
    await expect(bus.publish(guardrailTriggered, trigger, { deadlineMs: 20 })).rejects.toBeInstanceOf(BusUnavailable);
    const retry = bus.publish(guardrailTriggered, trigger);
    release.open();
    expect(await retry).toMatchObject({ duplicate: true });
    expect(group.seen.length).toBe(1);
    await bus.close();
  });

  it('rejects a publish immediately when the queue is full', async () => {
    const bus = createMemoryBus({ queue: { messages: 2, bytes: 1_000_000 } });
    const release = gate();
    const group = recorder(async () => {
      await release.opened;
      return ACK;
    });
    await bus.consume(guardrailTriggered, { group: 'full' }, group.handler);
    const taken = [bus.publish(guardrailTriggered, aTrigger()), bus.publish(guardrailTriggered, aTrigger())];
    await expect(bus.publish(guardrailTriggered, aTrigger())).rejects.toMatchObject({
      name: 'BusUnavailable',
      afterMs: 1_000,
    });
    release.open();
    await Promise.all(taken);
    await bus.publish(guardrailTriggered, aTrigger());
    expect(group.seen.length).toBe(3);
    await bus.close();
  });

  it('stores an id again after the duplicate window', async () => {
    const clock = fixedClock();
    const bus = createMemoryBus({ clock });
    const trigger = aTrigger();
    const first = await bus.publish(guardrailTriggered, trigger);
    clock.advance(59 * 60_000);
    expect(await bus.publish(guardrailTriggered, trigger)).toMatchObject({ duplicate: true });
    clock.advance(60_000);
    const later = await bus.publish(guardrailTriggered, trigger);
    expect(later.duplicate).toBe(false);
    expect(later.sequence).toBeGreaterThan(first.sequence);
    await bus.close();
  });

  it('bounds the stored history', async () => {
    const bus = createMemoryBus({ history: { messages: 3, bytes: 1_000_000 } });
    const triggers = Array.from({ length: 5 }, () => aTrigger());
    for (const trigger of triggers) await bus.publish(guardrailTriggered, trigger);
    const seen: string[] = [];
    await bus.watch(guardrailTriggered, { from: 0 }, ({ value }) => seen.push(value.id));
    await eventually(() => expect(seen).toEqual(triggers.slice(2).map((trigger) => trigger.id)));
    await bus.close();
  });

  it('keeps envelopes of more messages than bodies', async () => {
    const bus = createMemoryBus({ history: { messages: 3, bytes: 1 } });
    const sequences: number[] = [];
    for (let i = 0; i < 4; i++) sequences.push((await bus.publish(guardrailTriggered, aTrigger())).sequence);
    const page = await bus.envelopes(guardrailTriggered, 0, 10);
    expect(page.envelopes.map(({ sequence }) => sequence)).toEqual(sequences.slice(1));
    const seen: number[] = [];
    await bus.watch(guardrailTriggered, { from: 0 }, ({ sequence }) => seen.push(sequence));
    await eventually(() => expect(seen).toEqual(sequences.slice(3)));
    await bus.close();
  });

  it('continues sequences after a restart, so that a screen can resume', async () => {
    const clock = fixedClock();
    const before = await createMemoryBus({ clock }).publish(guardrailTriggered, aTrigger());
    clock.advance(1_000);
    const after = await createMemoryBus({ clock }).publish(guardrailTriggered, aTrigger());
    expect(after.sequence).toBeGreaterThan(before.sequence);
    expect(Number.isSafeInteger(after.sequence)).toBe(true);
  });

  it('rejects pending publishes when it closes', async () => {
    const bus = createMemoryBus({ drainMs: 10 });
    const subscription = await bus.consume(guardrailTriggered, { group: 'gone' }, recorder().handler);
    await subscription.close();
    const sent = bus.publish(guardrailTriggered, aTrigger(), { deadlineMs: 60_000 });
    const refused = expect(sent).rejects.toBeInstanceOf(BusUnavailable);
    await bus.close();
    await refused;
  });
});
