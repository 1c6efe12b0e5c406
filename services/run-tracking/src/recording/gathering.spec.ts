import type { EventBatch } from '@agentlens/contracts';
import { ACK, type HandlingOutcome, type Received } from '@agentlens/messaging';
import { aBatch, anEvent } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Gathering } from './gathering.ts';
import { messageOf } from './message.testing.ts';

const message = (id: string, events = 1): Received<EventBatch> =>
  messageOf(aBatch({ id, events: Array.from({ length: events }, (_, i) => anEvent({ id: `${id}-${i}` })) }));

/** Statements that the test ends. */
function statements(paceMs: number) {
  const begun: { ids: string[]; end(outcome?: HandlingOutcome): void; fail(error: Error): void }[] = [];
  const gathering = new Gathering<EventBatch>({
    eventsOf: ({ value }) => value.events.length,
    paceMs,
    now: () => Date.now(),
    record: (messages) =>
      new Promise((resolve, reject) => {
        begun.push({
          ids: messages.map(({ messageId }) => messageId),
          end: (outcome = ACK) => resolve(messages.map(() => outcome)),
          fail: reject,
        });
      }),
  });
  return { gathering, begun, ids: () => begun.map(({ ids }) => ids) };
}

describe('gathering', () => {
  it('starts at once if no statement is running, and gathers messages that arrive meanwhile', async () => {
    const { gathering, begun, ids } = statements(0);

    const first = gathering.record([message('a')]);
    const others = [gathering.record([message('b'), message('c')]), gathering.record([message('d')])];
    expect(ids()).toEqual([['a']]);
    begun[0]?.end();
    await first;

    expect(ids()).toEqual([['a'], ['b', 'c', 'd']]);
    begun[1]?.end({ kind: 'retry', afterMs: 1, reason: 'later' });
    expect((await Promise.all(others)).map((outcomes) => outcomes.map(({ kind }) => kind))).toEqual([
      ['retry', 'retry'],
      ['retry'],
    ]);
  });

  it('starts a second concurrent statement only if enough events wait, and never a third', () => {
    const { gathering, ids } = statements(0);

    void gathering.record([message('a')]);
    void gathering.record([message('few', 499)]);
    expect(ids()).toEqual([['a']]);
    void gathering.record([message('one')]);
    expect(ids()).toEqual([['a'], ['few', 'one']]);
    void gathering.record([message('many', 1_000)]);
    expect(ids()).toHaveLength(2);
  });

  describe('with a pace', () => {
    beforeEach(() => {
      jest.useFakeTimers();
    });

    afterEach(() => {
      jest.useRealTimers();
    });

    /** Returns statements of which the first has ended. */
    async function afterFirst(events: number) {
      const story = statements(200);
      const first = story.gathering.record([message('first', events)]);
      story.begun[0]?.end();
      await first;
      return story;
    }

    it('delays a few events until the pace allows them, but not many', async () => {
      const { gathering, begun, ids } = await afterFirst(50);

      void gathering.record([message('b')]);
      jest.advanceTimersByTime(199);
      expect(ids()).toEqual([['first']]);
      const last = gathering.record([message('c')]);
      jest.advanceTimersByTime(1);
      expect(ids()).toEqual([['first'], ['b', 'c']]);
      begun[1]?.end();
      await last;
      void gathering.record([message('many', 500)]);
      expect(ids()).toEqual([['first'], ['b', 'c'], ['many']]);
    });

    it('waits less after a small statement, and not at all after a pause', async () => {
      const { gathering, begun, ids } = await afterFirst(1);

      const second = gathering.record([message('second')]);
      expect(ids()).toHaveLength(1);
      jest.advanceTimersByTime(25);
      expect(ids()).toHaveLength(2);
      begun[1]?.end();
      await second;
      jest.advanceTimersByTime(25);
      void gathering.record([message('third')]);
      expect(ids()).toHaveLength(3);
    });

    it('starts after many calls, regardless of their number of events', async () => {
      const { gathering, ids } = await afterFirst(1);

      for (let call = 1; call < 50; call++) void gathering.record([message(`${call}`)]);
      expect(ids()).toHaveLength(1);
      void gathering.record([message('50')]);
      expect(ids()).toHaveLength(2);
    });
  });

  it('continues after a failed statement, which rejects every call in it', async () => {
    const { gathering, begun, ids } = statements(0);
    const first = gathering.record([message('a')]);
    const second = gathering.record([message('b')]);

    begun[0]?.fail(new Error('gone'));

    await expect(first).rejects.toThrow('gone');
    expect(ids()).toEqual([['a'], ['b']]);
    begun[1]?.end();
    expect(await second).toEqual([ACK]);
  });
});
