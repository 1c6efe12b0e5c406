import type { EventBatch } from '@agentlens/contracts';
import { ACK, type Outcome, type Received } from '@agentlens/messaging';
import { aBatch, anEvent } from '@agentlens/testing';
import { describe, expect, it, jest } from '@jest/globals';
import { Gathering } from './gathering.ts';
import { messageOf } from './message.testing.ts';

const message = (id: string, events = 1): Received<EventBatch> =>
  messageOf(aBatch({ id, events: Array.from({ length: events }, (_, i) => anEvent({ id: `${id}-${i}` })) }));

/** Statements that end when they are told to. */
function statements(lingerMs: number) {
  const begun: { ids: string[]; end(outcome?: Outcome): void; fail(error: Error): void }[] = [];
  const gathering = new Gathering<EventBatch>({
    eventsOf: ({ value }) => value.events.length,
    lingerMs,
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
  it('stores at once where nothing runs, and what came meanwhile together afterwards', async () => {
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

  it('begins a second statement beside a running one only where enough waits for it, and never a third', () => {
    const { gathering, ids } = statements(0);

    void gathering.record([message('a')]);
    void gathering.record([message('few', 499)]);
    expect(ids()).toEqual([['a']]);
    void gathering.record([message('one')]);
    expect(ids()).toEqual([['a'], ['few', 'one']]);
    void gathering.record([message('many', 1_000)]);
    expect(ids()).toHaveLength(2);
  });

  it('lets few events wait for more, many not at all', () => {
    jest.useFakeTimers();
    try {
      const { gathering, ids } = statements(25);

      void gathering.record([message('a')]);
      void gathering.record([message('b')]);
      expect(ids()).toEqual([]);
      jest.advanceTimersByTime(25);
      expect(ids()).toEqual([['a', 'b']]);
      void gathering.record([message('many', 500)]);
      expect(ids()).toEqual([['a', 'b'], ['many']]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('goes on after a statement that threw, which every call in it learns of', async () => {
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
