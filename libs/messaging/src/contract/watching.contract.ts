import { guardrailTriggered, rulesChanged, runChanged } from '@agentlens/contracts';
import { aTrigger, eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { freshBus, gate, type StartBus } from './harness.contract.ts';

const at = '2026-03-01T12:00:00.000Z';

export function watchingContract(start: StartBus): void {
  describe('watching', () => {
    const current = freshBus(start);

    it('delivers new messages to every watcher', async () => {
      const { bus, replica } = current();
      const other = await replica();
      const [before, after] = [aTrigger(), aTrigger()];
      await bus.publish(guardrailTriggered, before);
      const seen: [string, number][] = [];
      const alsoSeen: string[] = [];
      await bus.watch(guardrailTriggered, { from: 'new' }, (message) =>
        seen.push([message.value.id, message.sequence]),
      );
      await other.watch(guardrailTriggered, {}, (message) => alsoSeen.push(message.value.id));
      const { sequence } = await bus.publish(guardrailTriggered, after);
      await eventually(() => expect(seen).toEqual([[after.id, sequence]]));
      await eventually(() => expect(alsoSeen).toEqual([after.id]));
    });

    it('delivers to a tenant only its own messages', async () => {
      const { bus } = current();
      const seen: string[] = [];
      await bus.watch(guardrailTriggered, { tenantId: 'acme' }, (message) => seen.push(message.value.id));
      const [mine, foreign, alsoMine] = [aTrigger(), aTrigger({ tenantId: 'globex' }), aTrigger()];
      for (const trigger of [mine, foreign, alsoMine]) await bus.publish(guardrailTriggered, trigger);
      await eventually(() => expect(seen).toEqual([mine.id, alsoMine.id]));
    });

    it('resumes after a sequence', async () => {
      const { bus } = current();
      const triggers = [aTrigger(), aTrigger(), aTrigger()];
      const acks = [];
      for (const trigger of triggers) acks.push(await bus.publish(guardrailTriggered, trigger));
      const seen: string[] = [];
      const caughtUp = gate();
      const from = acks[0]?.sequence ?? 0;
      await bus.watch(guardrailTriggered, { from, onCaughtUp: caughtUp.open }, (message) =>
        seen.push(message.value.id),
      );
      await caughtUp.opened;
      expect(seen).toEqual([triggers[1]?.id, triggers[2]?.id]);
      const next = aTrigger();
      await bus.publish(guardrailTriggered, next);
      await eventually(() => expect(seen.at(-1)).toBe(next.id));
    });

    it('starts with the newest message of each subject on request, then continues', async () => {
      const { bus } = current();
      const change = (tenantId: string, version: string) => bus.publish(rulesChanged, { tenantId, version, at });
      await change('acme', 'v1');
      await change('globex', 'v1');
      await change('acme', 'v2');
      const seen: string[] = [];
      const caughtUp = gate();
      await bus.watch(rulesChanged, { from: 'last', onCaughtUp: caughtUp.open }, ({ value }) => {
        seen.push(`${value.tenantId} ${value.version}`);
      });
      await caughtUp.opened;
      expect([...seen].sort()).toEqual(['acme v2', 'globex v1']);
      await change('acme', 'v3');
      await eventually(() => expect(seen.at(-1)).toBe('acme v3'));
    });

    it('reports immediately that it caught up if there is no history', async () => {
      const { bus } = current();
      const caughtUp = gate();
      await bus.watch(rulesChanged, { from: 'last', onCaughtUp: caughtUp.open }, () => undefined);
      await caughtUp.opened;
      const live = gate();
      await bus.watch(runChanged, { onCaughtUp: live.open }, () => undefined);
      await live.opened;
    });

    it('delivers ephemeral topics to every watcher', async () => {
      const { bus, replica } = current();
      const other = await replica();
      const seen: string[][] = [[], []];
      await bus.watch(runChanged, {}, ({ value }) => seen[0]?.push(...value.runIds));
      await other.watch(runChanged, { tenantId: 'acme' }, ({ value }) => seen[1]?.push(...value.runIds));
      const ack = await bus.publish(runChanged, { tenantId: 'acme', runIds: ['run-1'], at });
      await bus.publish(runChanged, { tenantId: 'globex', runIds: ['run-2'], at });
      expect(ack).toEqual({ sequence: 0, duplicate: false });
      await eventually(() => expect(seen).toEqual([['run-1', 'run-2'], ['run-1']]));
    });

    it('survives a watcher that throws, and stops when closed', async () => {
      const { bus } = current();
      const seen: string[] = [];
      const watch = await bus.watch(guardrailTriggered, {}, ({ value }) => {
        seen.push(value.id);
        if (seen.length === 1) throw new Error('the watcher failed');
      });
      const [first, second, third] = [aTrigger(), aTrigger(), aTrigger()];
      await bus.publish(guardrailTriggered, first);
      await bus.publish(guardrailTriggered, second);
      await eventually(() => expect(seen).toEqual([first.id, second.id]));
      await watch.close();
      await bus.publish(guardrailTriggered, third);
      const witness: string[] = [];
      await bus.watch(guardrailTriggered, { from: 0 }, ({ value }) => witness.push(value.id));
      await eventually(() => expect(witness).toHaveLength(3));
      expect(seen).toEqual([first.id, second.id]);
    });

    it('reads envelopes in pages and in order', async () => {
      const { bus } = current();
      const triggers = [aTrigger(), aTrigger({ tenantId: 'globex' }), aTrigger()];
      const sequences: number[] = [];
      for (const trigger of triggers) sequences.push((await bus.publish(guardrailTriggered, trigger)).sequence);
      const before = (sequences[0] ?? 0) - 1;
      const first = await bus.envelopes(guardrailTriggered, before, 2);
      expect(first.envelopes.map(({ sequence }) => sequence)).toEqual(sequences.slice(0, 2));
      expect(first.envelopes.map(({ subject }) => subject)).toEqual(
        triggers.slice(0, 2).map((trigger) => guardrailTriggered.subject(trigger)),
      );
      expect(first.envelopes[0]?.headers).toMatchObject({ 'ce-id': triggers[0]?.id });
      expect(first).toMatchObject({ scanned: 2, upTo: sequences[1], newest: sequences[2] });
      const second = await bus.envelopes(guardrailTriggered, first.upTo, 2);
      expect(second.envelopes.map(({ sequence }) => sequence)).toEqual([sequences[2]]);
      const none = await bus.envelopes(guardrailTriggered, second.upTo, 2);
      expect(none).toEqual({ envelopes: [], scanned: 0, upTo: sequences[2], newest: sequences[2] });
    });
  });
}
