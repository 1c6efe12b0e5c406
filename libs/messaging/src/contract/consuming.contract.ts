import {
  agentEvents,
  deliverySettled,
  eventBatchFacts,
  factsOfBatch,
  guardrailTriggered,
  runChanged,
  type Trigger,
} from '@agentlens/contracts';
import { aBatch, aTrigger, eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { ACK, NO_LAG } from '../event-bus.ts';
import { encodeMessage } from '../publish/encoded-message.ts';
import { freshBus, gate, recorder, type StartBus } from './harness.contract.ts';

export function consumingContract(start: StartBus): void {
  describe('consuming', () => {
    const current = freshBus(start);

    it('delivers each message to every group once, parsed and with its metadata', async () => {
      const { bus } = current();
      const first = recorder();
      const second = recorder();
      await bus.consume(guardrailTriggered, { group: 'first' }, first.handler);
      await bus.consume(guardrailTriggered, { group: 'second' }, second.handler);
      const triggers = [aTrigger(), aTrigger(), aTrigger()];
      const acks = await Promise.all(triggers.map((trigger) => bus.publish(guardrailTriggered, trigger)));
      await eventually(() => expect([first.seen.length, second.seen.length]).toEqual([3, 3]));
      expect(first.seen.map((message) => message.value)).toEqual(triggers);
      const [message] = first.seen;
      expect(message).toMatchObject({ messageId: triggers[0]?.id, attempt: 1, sequence: acks[0]?.sequence });
      expect(message?.subject).toBe('guardrail.triggered.acme.rule-1');
      expect(JSON.parse(Buffer.from(message?.raw ?? []).toString('utf8'))).toEqual(triggers[0]);
      expect(message?.publishedAtMs).toBeGreaterThan(0);
      expect(acks.every((ack) => !ack.duplicate)).toBe(true);
    });

    it('delivers no message of another topic in the same stream', async () => {
      const { bus } = current();
      const triggers = recorder();
      await bus.consume(guardrailTriggered, { group: 'dispatcher' }, triggers.handler);
      await bus.publish(deliverySettled, {
        deliveryId: 'd-1',
        triggerId: 't-1',
        tenantId: 'acme',
        ruleId: 'rule-1',
        agentId: 'agent-1',
        actionType: 'pause_agent',
        result: 'success',
        attempts: 1,
        settledAt: '2026-03-01T12:00:00.000Z',
      });
      const trigger = aTrigger();
      await bus.publish(guardrailTriggered, trigger);
      await eventually(() => expect(triggers.ids()).toEqual([trigger.id]));
    });

    it('shares the messages of a group among its replicas', async () => {
      const { bus, replica } = current();
      const other = await replica();
      const bothBusy = gate();
      const handledBy: string[] = [];
      const handler = (name: string) =>
        recorder(async () => {
          handledBy.push(name);
          if (new Set(handledBy).size === 2) bothBusy.open();
          // Holds its first message until the other replica has one too; a replica that takes all would block.
          await bothBusy.opened;
          return ACK;
        });
      const [one, two] = [handler('one'), handler('two')];
      await bus.consume(guardrailTriggered, { group: 'shared' }, one.handler);
      await other.consume(guardrailTriggered, { group: 'shared' }, two.handler);
      const triggers = Array.from({ length: 20 }, () => aTrigger());
      await Promise.all(triggers.map((trigger) => bus.publish(guardrailTriggered, trigger, { deadlineMs: 15_000 })));
      const handled = () => new Set([...one.ids(), ...two.ids()]);
      await eventually(() => expect(handled()).toEqual(new Set(triggers.map(({ id }) => id))));
      expect(Math.min(one.seen.length, two.seen.length)).toBeGreaterThan(0);
      // A slow machine may cause redeliveries, but the first delivery of a message goes to one replica.
      const firsts = [...one.seen, ...two.seen].filter(({ attempt }) => attempt === 1).map(({ value }) => value.id);
      expect(new Set(firsts).size).toBe(firsts.length);
    });

    it('delivers messages that were published before the group first joined', async () => {
      const { bus } = current();
      const trigger = aTrigger();
      await bus.publish(guardrailTriggered, trigger);
      const late = recorder();
      await bus.consume(guardrailTriggered, { group: 'late' }, late.handler);
      await eventually(() => expect(late.ids()).toEqual([trigger.id]));
    });

    it('continues where a group stopped', async () => {
      const { bus } = current();
      const before = recorder();
      const subscription = await bus.consume(guardrailTriggered, { group: 'away' }, before.handler);
      const [first, second] = [aTrigger(), aTrigger()];
      await bus.publish(guardrailTriggered, first);
      await eventually(() => expect(before.ids()).toEqual([first.id]));
      await subscription.close();
      const sent = bus.publish(guardrailTriggered, second);
      const after = recorder();
      await bus.consume(guardrailTriggered, { group: 'away' }, after.handler);
      await sent;
      await eventually(() => expect(after.ids()).toEqual([second.id]));
    });

    it('stores a message id once and reports duplicates', async () => {
      const { bus } = current();
      const group = recorder();
      await bus.consume(guardrailTriggered, { group: 'once' }, group.handler);
      const [trigger, next] = [aTrigger(), aTrigger()];
      const first = await bus.publish(guardrailTriggered, trigger);
      expect(await bus.publish(guardrailTriggered, trigger)).toEqual({ sequence: first.sequence, duplicate: true });
      await bus.publish(guardrailTriggered, next);
      await eventually(() => expect(group.ids()).toEqual([trigger.id, next.id]));
    });

    it('delivers batches up to the requested size', async () => {
      const { bus } = current();
      const full = gate();
      const group = recorder(async () => {
        await full.opened;
        return ACK;
      });
      await bus.consume(guardrailTriggered, { group: 'batches', maxBatch: 5 }, group.handler);
      const sent = [bus.publish(guardrailTriggered, aTrigger())];
      await eventually(() => expect(group.batches).toEqual([1]));
      for (let i = 0; i < 20; i += 1) sent.push(bus.publish(guardrailTriggered, aTrigger()));
      // The consumer has filled its buffer behind the running call.
      await eventually(async () => {
        const { pending, unacknowledged } = await bus.lag(guardrailTriggered, 'batches');
        expect(pending + unacknowledged).toBe(21);
      });
      full.open();
      await Promise.all(sent);
      await eventually(() => expect(group.seen.length).toBe(21));
      expect(Math.max(...group.batches)).toBe(5);
    });

    it('runs as many concurrent calls as requested and no more', async () => {
      const { bus } = current();
      let running = 0;
      let maxRunning = 0;
      const two = gate();
      const group = recorder(async () => {
        running += 1;
        maxRunning = Math.max(maxRunning, running);
        if (running === 2) two.open();
        await two.opened;
        running -= 1;
        return ACK;
      });
      await bus.consume(guardrailTriggered, { group: 'parallel', concurrency: 2 }, group.handler);
      await Promise.all(Array.from({ length: 10 }, () => bus.publish(guardrailTriggered, aTrigger())));
      await eventually(() => expect(group.seen.length).toBe(10));
      expect(maxRunning).toBe(2);
    });

    it('delivers large batches unchanged', async () => {
      const { bus } = current();
      const group = recorder<ReturnType<typeof aBatch>>();
      await bus.consume(agentEvents, { group: 'large' }, group.handler);
      const batch = aBatch();
      const big = {
        ...batch,
        events: batch.events.map((event) => ({ ...event, payload: { text: 'ü✓'.repeat(50_000) } })),
      };
      await bus.publish(agentEvents, big);
      await eventually(() => expect(group.seen[0]?.value).toEqual(big));
    });

    it('summarizes a batch in its headers, so that a lazy consumer need not parse it', async () => {
      const { bus } = current();
      const group = recorder<ReturnType<typeof aBatch>>();
      await bus.consume(agentEvents, { group: 'lazy', lazy: true }, group.handler);
      const batch = aBatch();
      await bus.publish(agentEvents, batch);
      await eventually(() => expect(group.seen.length).toBe(1));
      const [message] = group.seen;
      expect(eventBatchFacts(message?.headers ?? {})).toEqual(factsOfBatch(batch));
      expect(message?.value).toEqual(batch);
    });

    it('delivers an encoded message like one that it encoded itself', async () => {
      const { bus } = current();
      const group = recorder<ReturnType<typeof aBatch>>();
      await bus.consume(agentEvents, { group: 'written' }, group.handler);
      const [batch, again] = [aBatch(), aBatch()];
      const written = encodeMessage(agentEvents, batch);
      await bus.publishEncoded(agentEvents, written);
      expect(await bus.publishEncoded(agentEvents, written)).toMatchObject({ duplicate: true });
      await bus.publish(agentEvents, again);
      await eventually(() => expect(group.seen.length).toBe(2));
      const [first, second] = group.seen;
      expect(first).toMatchObject({ value: batch, messageId: batch.id, subject: second?.subject });
      expect(Object.keys(first?.headers ?? {}).sort()).toEqual(Object.keys(second?.headers ?? {}).sort());
    });

    it('sends public events as CloudEvents, with any characters in the agent id', async () => {
      const { bus } = current();
      const group = recorder<Trigger>();
      await bus.consume(guardrailTriggered, { group: 'outward' }, group.handler);
      const trigger = aTrigger({ agentId: 'équipe "A" 100%' });
      await bus.publish(guardrailTriggered, trigger);
      await eventually(() => expect(group.seen.length).toBe(1));
      expect(group.seen[0]?.headers).toMatchObject({
        'content-type': 'application/json',
        'ce-specversion': '1.0',
        'ce-id': trigger.id,
        'ce-type': 'dev.agentlens.guardrail.triggered.v1',
        'ce-source': '/agentlens/tenants/acme/rules/rule-1',
        'ce-subject': trigger.agentId,
        'ce-time': trigger.triggeredAt,
      });
    });

    it('reports how far a group is behind', async () => {
      const { bus } = current();
      expect(await bus.lag(guardrailTriggered, 'unknown')).toEqual(NO_LAG);
      const release = gate();
      const group = recorder(async () => {
        await release.opened;
        return ACK;
      });
      await bus.consume(guardrailTriggered, { group: 'behind' }, group.handler);
      const sent = [aTrigger(), aTrigger(), aTrigger()].map((trigger) => bus.publish(guardrailTriggered, trigger));
      await eventually(async () => {
        const lag = await bus.lag(guardrailTriggered, 'behind');
        expect(lag.pending + lag.unacknowledged).toBe(3);
        expect(lag.unacknowledged).toBeGreaterThan(0);
        expect(lag.oldestAgeMs).toBeGreaterThan(0);
      });
      release.open();
      await Promise.all(sent);
      await eventually(async () => expect(await bus.lag(guardrailTriggered, 'behind')).toEqual(NO_LAG));
    });

    it('derives the age of the backlog from the number of waiting messages, not from a single held one', async () => {
      const { bus } = current();
      const release = gate();
      const held = aTrigger();
      const group = recorder(async ({ messageId }) => {
        if (messageId === held.id) await release.opened;
        return ACK;
      });
      await bus.consume(guardrailTriggered, { group: 'held', concurrency: 2 }, group.handler);
      const sent = [bus.publish(guardrailTriggered, held)];
      const lag = () => bus.lag(guardrailTriggered, 'held');
      await eventually(async () => expect((await lag()).backlogAgeMs).toBeGreaterThan(50));
      const later = aTrigger();
      sent.push(bus.publish(guardrailTriggered, later));
      await eventually(async () => {
        const { backlogAgeMs, oldestAgeMs } = await lag();
        expect(group.ids()).toContain(later.id);
        // Only one message is unsettled, so the newest one counts.
        expect(backlogAgeMs).toBeLessThan(oldestAgeMs - 25);
      });
      release.open();
      await Promise.all(sent);
      await eventually(async () => expect(await lag()).toEqual(NO_LAG));
    });

    it('rejects one group name for two topics of a stream, and groups on ephemeral topics', async () => {
      const { bus } = current();
      await bus.consume(guardrailTriggered, { group: 'mine' }, recorder().handler);
      const twice = bus.consume(deliverySettled, { group: 'mine' }, async () => []);
      await expect(twice).rejects.toThrow('use another group name');
      const ephemeral = bus.consume(runChanged, { group: 'mine' }, async () => []);
      await expect(ephemeral).rejects.toThrow('is ephemeral');
    });
  });
}
