import { guardrailTriggered } from '@agentlens/contracts';
import { aTrigger, eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { ACK, BusUnavailable, NO_LAG } from '../event-bus.ts';
import { freshBus, gate, recorder, type StartBus } from './harness.contract.ts';

export function stoppingContract(start: StartBus): void {
  describe('stopping', () => {
    const current = freshBus(start);

    for (const what of ['subscription', 'bus'] as const) {
      it(`waits for running handlers when a ${what} closes, and settles their messages`, async () => {
        const { bus, replica } = current();
        const other = await replica();
        const release = gate();
        const order: string[] = [];
        const slow = recorder(async () => {
          await release.opened;
          order.push('handled');
          return ACK;
        });
        const subscription = await bus.consume(guardrailTriggered, { group: 'slow' }, slow.handler);
        const trigger = aTrigger();
        const sent = bus.publish(guardrailTriggered, trigger);
        await eventually(() => expect(slow.seen.length).toBe(1));
        const closed = (what === 'bus' ? bus : subscription).close().then(() => order.push('closed'));
        release.open();
        await closed;
        expect(order).toEqual(['handled', 'closed']);
        expect(await sent).toMatchObject({ duplicate: false });
        await eventually(async () => expect(await other.lag(guardrailTriggered, 'slow')).toEqual(NO_LAG));
      });
    }

    it('leaves messages that it has not started to the other replicas', async () => {
      const { bus, replica } = current();
      const other = await replica();
      const release = gate();
      const slow = recorder(async () => {
        await release.opened;
        return ACK;
      });
      const subscription = await bus.consume(guardrailTriggered, { group: 'handover', maxBatch: 1 }, slow.handler);
      const triggers = Array.from({ length: 6 }, () => aTrigger());
      const sent = triggers.map((trigger) => bus.publish(guardrailTriggered, trigger, { deadlineMs: 15_000 }));
      await eventually(() => expect(slow.seen.length).toBe(1));
      const closed = subscription.close();
      const rest = recorder();
      await other.consume(guardrailTriggered, { group: 'handover' }, rest.handler);
      await eventually(() => expect(rest.seen.length).toBe(5));
      release.open();
      await closed;
      await Promise.all(sent);
      expect([...slow.ids(), ...rest.ids()].sort()).toEqual(triggers.map((trigger) => trigger.id).sort());
    });

    it('rejects publishes after it was closed', async () => {
      const { bus } = current();
      expect(bus.healthy()).toBe(true);
      await bus.close();
      expect(bus.healthy()).toBe(false);
      await expect(bus.publish(guardrailTriggered, aTrigger())).rejects.toBeInstanceOf(BusUnavailable);
    });
  });
}
