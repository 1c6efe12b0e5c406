import { guardrailTriggered, JsonObject, type Topic, type Trigger } from '@agentlens/contracts';
import { aTrigger, eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { each } from '../consume/each.ts';
import { ACK, type DeadLetterPage, type HandlingOutcome, NO_LAG } from '../event-bus.ts';
import { freshBus, gate, recorder, type StartBus } from './harness.contract.ts';

const poison: HandlingOutcome = { kind: 'poison', reason: 'cannot be stored' };
const again: HandlingOutcome = { kind: 'retry', afterMs: 1, reason: 'not now' };

/** Publishes messages that may violate the topic's schema, as a publisher in another language could. */
const careless: Topic<JsonObject> = {
  ...guardrailTriggered,
  schema: JsonObject,
  subject: () => 'guardrail.triggered.acme.rule-1',
  messageId: () => 'malformed-1',
  cloudEvent: undefined,
};

export function failingContract(start: StartBus): void {
  describe('failing', () => {
    const current = freshBus(start);

    it('redelivers a message as often as its handler asks for a retry', async () => {
      const { bus } = current();
      const group = recorder((message) => (message.attempt < 6 ? again : ACK));
      await bus.consume(guardrailTriggered, { group: 'patient' }, group.handler);
      const trigger = aTrigger();
      await bus.publish(guardrailTriggered, trigger);
      await eventually(() => expect(group.seen.map((message) => message.attempt)).toEqual([1, 2, 3, 4, 5, 6]));
      expect(new Set(group.ids())).toEqual(new Set([trigger.id]));
      expect(await bus.deadLetters()).toEqual([]);
    });

    it('delivers other messages while one waits for its retry', async () => {
      const { bus } = current();
      const [resting, other] = [aTrigger(), aTrigger()];
      const group = recorder((message): HandlingOutcome => {
        const rests = message.messageId === resting.id && message.attempt === 1;
        return rests ? { kind: 'retry', afterMs: 300, reason: 'busy' } : ACK;
      });
      await bus.consume(guardrailTriggered, { group: 'busy' }, group.handler);
      await Promise.all([resting, other].map((trigger) => bus.publish(guardrailTriggered, trigger)));
      await eventually(() => expect(group.ids()).toEqual([resting.id, other.id, resting.id]));
    });

    it('redelivers the whole batch if its handler throws or returns too few outcomes', async () => {
      const { bus } = current();
      let calls = 0;
      const attempts: number[] = [];
      await bus.consume(guardrailTriggered, { group: 'crashing', maxBatch: 10 }, async (messages) => {
        calls += 1;
        attempts.push(...messages.map((message) => message.attempt));
        if (calls === 1) throw new Error('database unavailable');
        return calls === 2 ? [] : messages.map(() => ACK);
      });
      await bus.publish(guardrailTriggered, aTrigger());
      await eventually(() => expect(attempts).toEqual([1, 2, 3]));
    });

    it('settles each message of a batch by its own outcome', async () => {
      const { bus } = current();
      const [good, bad, late] = [aTrigger(), aTrigger(), aTrigger()];
      const group = recorder((message) => {
        if (message.messageId === bad.id) return poison;
        return message.messageId === late.id && message.attempt === 1 ? again : ACK;
      });
      await bus.consume(guardrailTriggered, { group: 'mixed', maxBatch: 10 }, group.handler);
      await Promise.all([good, bad, late].map((trigger) => bus.publish(guardrailTriggered, trigger)));
      await eventually(() => expect(group.ids().sort()).toEqual([good.id, bad.id, late.id, late.id].sort()));
      await eventually(async () =>
        expect((await bus.deadLetters()).map((letter) => letter.messageId)).toEqual([bad.id]),
      );
      await eventually(async () => expect(await bus.lag(guardrailTriggered, 'mixed')).toEqual(NO_LAG));
    });

    it('stores poison as a dead letter of that group only', async () => {
      const { bus } = current();
      const refusing = recorder(() => poison);
      const content = recorder();
      await bus.consume(guardrailTriggered, { group: 'refusing' }, refusing.handler);
      await bus.consume(guardrailTriggered, { group: 'content' }, content.handler);
      const trigger = aTrigger();
      await bus.publish(guardrailTriggered, trigger);
      await eventually(async () => expect(await bus.deadLetters()).toHaveLength(1));
      const [letter] = await bus.deadLetters('refusing');
      expect(letter).toMatchObject({
        group: 'refusing',
        topic: 'guardrail.triggered',
        subject: 'guardrail.triggered.acme.rule-1',
        messageId: trigger.id,
        reason: 'cannot be stored',
        attempts: 1,
      });
      expect(JSON.parse(Buffer.from(letter?.body ?? '', 'base64').toString('utf8'))).toEqual(trigger);
      expect(await bus.deadLetters('content')).toEqual([]);
      await eventually(() => expect(content.ids()).toEqual([trigger.id]));
      expect(refusing.seen.length).toBe(1);
    });

    it('returns dead letters in pages, for one tenant or all', async () => {
      const { bus } = current();
      const group = recorder(() => poison);
      await bus.consume(guardrailTriggered, { group: 'refusing' }, group.handler);
      const triggers = ['acme', 'globex', 'acme', 'acme'].map((tenantId) => aTrigger({ tenantId }));
      for (const [i, trigger] of triggers.entries()) {
        await bus.publish(guardrailTriggered, trigger);
        await eventually(async () => expect(await bus.deadLetters()).toHaveLength(i + 1));
      }
      const [first, theirs, second, third] = triggers.map(({ id }) => id);
      const idsOf = ({ letters }: DeadLetterPage) => letters.map(({ value }) => value.messageId);
      const page = await bus.deadLetterPage({ tenantId: 'acme', after: 0, limit: 2 });
      expect({ ids: idsOf(page), remaining: page.remaining }).toEqual({ ids: [first, second], remaining: 1 });
      const next = await bus.deadLetterPage({ tenantId: 'acme', after: page.upTo, limit: 2 });
      expect({ ids: idsOf(next), remaining: next.remaining }).toEqual({ ids: [third], remaining: 0 });
      expect(idsOf(await bus.deadLetterPage({ tenantId: 'initech', after: 0, limit: 2 }))).toEqual([]);
      expect(idsOf(await bus.deadLetterPage({ after: 0, limit: 10 }))).toEqual([first, theirs, second, third]);
      const end = await bus.deadLetterPage({ after: next.upTo, limit: 10 });
      expect(end).toEqual({ letters: [], upTo: next.upTo, remaining: 0 });
    });

    it('counts unsettled messages that were delivered more than once', async () => {
      const { bus } = current();
      const release = gate();
      const group = recorder(async (message) => {
        if (message.attempt === 1) return again;
        await release.opened;
        return ACK;
      });
      await bus.consume(guardrailTriggered, { group: 'again' }, group.handler);
      const sent = bus.publish(guardrailTriggered, aTrigger());
      await eventually(async () =>
        expect(await bus.lag(guardrailTriggered, 'again')).toMatchObject({ redelivered: 1 }),
      );
      release.open();
      await sent;
      await eventually(async () => expect(await bus.lag(guardrailTriggered, 'again')).toEqual(NO_LAG));
    });

    it('treats a message that does not match its topic as poison, without calling the handler', async () => {
      const { bus } = current();
      const group = recorder();
      await bus.consume(guardrailTriggered, { group: 'strict', maxBatch: 10 }, group.handler);
      await bus.publish(careless, { id: 'no trigger' });
      const good = aTrigger();
      await bus.publish(guardrailTriggered, good);
      await eventually(() => expect(group.ids()).toEqual([good.id]));
      await eventually(async () => expect(await bus.deadLetters('strict')).toHaveLength(1));
      const [letter] = await bus.deadLetters('strict');
      expect(letter?.messageId).toBe('malformed-1');
      expect(letter?.reason).toContain('tenantId');
    });

    it('redrives a dead letter to its group only', async () => {
      const { bus } = current();
      const mended = { yet: false };
      const refusing = recorder(() => (mended.yet ? ACK : poison));
      const other = recorder();
      const screen: string[] = [];
      await bus.consume(guardrailTriggered, { group: 'refusing' }, refusing.handler);
      await bus.consume(guardrailTriggered, { group: 'other' }, other.handler);
      await bus.watch(guardrailTriggered, {}, (message) => screen.push(message.messageId));
      const [trigger, next] = [aTrigger(), aTrigger()];
      await bus.publish(guardrailTriggered, trigger);
      await eventually(async () => expect(await bus.deadLetters('refusing')).toHaveLength(1));
      mended.yet = true;
      expect(await bus.redrive('refusing', 'no such message')).toBe(false);
      expect(await bus.redrive('refusing', trigger.id)).toBe(true);
      await bus.publish(guardrailTriggered, next);
      // The handler sees the original id, so its deduplication still works.
      await eventually(() => expect(refusing.ids()).toEqual([trigger.id, trigger.id, next.id]));
      await eventually(() => expect(other.ids()).toEqual([trigger.id, next.id]));
      await eventually(() => expect(screen).toEqual([trigger.id, next.id]));
      expect(await bus.deadLetters()).toEqual([]);
    });

    it('stores a new dead letter if a redriven message fails again', async () => {
      const { bus } = current();
      const group = recorder(() => poison);
      await bus.consume(guardrailTriggered, { group: 'hopeless' }, group.handler);
      const trigger = aTrigger();
      await bus.publish(guardrailTriggered, trigger);
      await eventually(async () => expect(await bus.deadLetters()).toHaveLength(1));
      expect(await bus.redrive('hopeless', trigger.id)).toBe(true);
      await eventually(() => expect(group.ids()).toEqual([trigger.id, trigger.id]));
      await eventually(async () =>
        expect((await bus.deadLetters()).map((letter) => letter.messageId)).toEqual([trigger.id]),
      );
    });

    it('adapts a handler of single messages, so that one error does not affect the others', async () => {
      const { bus } = current();
      const seen: [string, number][] = [];
      const [good, bad] = [aTrigger(), aTrigger()];
      const one = each<Trigger>(
        async (message) => {
          seen.push([message.messageId, message.attempt]);
          if (message.messageId === bad.id && message.attempt === 1) throw new Error('once');
          return ACK;
        },
        2,
        () => 1,
      );
      await bus.consume(guardrailTriggered, { group: 'singles', maxBatch: 5 }, one);
      await Promise.all([good, bad].map((trigger) => bus.publish(guardrailTriggered, trigger)));
      await eventually(() => expect(seen).toContainEqual([bad.id, 2]));
      expect(seen.filter(([id]) => id === good.id)).toEqual([[good.id, 1]]);
    });
  });
}
