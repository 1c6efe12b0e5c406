import { type EventBatch, eventBatchHeaders, factsOfBatch, parseBatch } from '@agentlens/contracts';
import { ACK, type Received, UnreadableMessage } from '@agentlens/messaging';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { databaseFault } from './database-fault.ts';
import { EventRecorder } from './event-recorder.ts';
import type { EventChunk } from './event-store.ts';
import { messageOf } from './message.testing.ts';

const codeError = (code: string) => Object.assign(new Error(code), { code });

function batch(id: string, eventIds: readonly string[]): EventBatch {
  const events = eventIds.map((eventId) => ({ id: eventId, occurredAt: '2026-03-01T12:00:00.000Z' }));
  return {
    id,
    tenantId: 't',
    partition: '00',
    receivedAt: '2026-03-01T12:00:00.000Z',
    events,
  } as unknown as EventBatch;
}

/** A store that rejects events whose id begins with `bad`. Counts its statements. */
function store(failures: Error[] = []) {
  const stored = new Set<string>();
  let statements = 0;
  return {
    stored,
    statements: () => statements,
    record: async ({ batches }: EventChunk) => {
      statements += 1;
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const ids = batches.flatMap((body) => (parseBatch(body) as EventBatch).events.map(({ id }) => id));
      if (ids.some((id) => id.startsWith('bad'))) throw codeError('22P05');
      for (const id of ids) stored.add(id);
      return { stored: ids.length, duplicates: 0, conflicts: 0, deleted: 0, runs: [] };
    },
  };
}

const recorder = (target: ReturnType<typeof store>) =>
  new EventRecorder({
    store: target,
    prepareDays: async () => {},
    onRecorded: () => {},
    onPoison: () => {},
    onAway: () => {},
  });

describe('bisection', () => {
  it('stores every valid event and rejects exactly the messages with an invalid one', async () => {
    const anyMessages = fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(anyMessages, async (shape) => {
        const messages = shape.map((flags, m) =>
          messageOf(
            batch(
              `m${m}`,
              flags.map((bad, i) => `${bad ? 'bad' : 'good'}-${m}-${i}`),
            ),
          ),
        );
        const target = store();

        const outcomes = await recorder(target).record(messages);

        const good = messages
          .flatMap(({ value }) => value.events.map(({ id }) => id))
          .filter((id) => !id.startsWith('bad'));
        expect([...target.stored].sort()).toEqual(good.sort());
        expect(outcomes.map(({ kind }) => kind)).toEqual(
          shape.map((flags) => (flags.includes(true) ? 'poison' : 'ack')),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('isolates one invalid event among 500 in at most 20 statements', async () => {
    const ids = Array.from({ length: 500 }, (_, i) => (i === 123 ? 'bad' : `good-${i}`));
    const target = store();

    await recorder(target).record([messageOf(batch('m', ids))]);

    expect(target.stored.size).toBe(499);
    expect(target.statements()).toBeLessThanOrEqual(20);
  });
});

describe('messages with event facts in their headers', () => {
  /** A message whose value throws when it is read. */
  function unread(value: EventBatch): Received<EventBatch> {
    const message = { ...messageOf(value), headers: eventBatchHeaders(factsOfBatch(value)) };
    return Object.defineProperty(message, 'value', {
      get: () => {
        throw new UnreadableMessage('not to be read');
      },
    });
  }

  it('are stored without being parsed', async () => {
    const target = store();

    expect(await recorder(target).record([unread(batch('m', ['a', 'b']))])).toEqual([ACK]);
    expect([...target.stored]).toEqual(['a', 'b']);
  });

  it('become dead letters individually if they cannot be parsed when needed', async () => {
    const target = store();
    const messages = [unread(batch('broken', ['bad'])), messageOf(batch('m', ['a', 'b']))];

    expect(await recorder(target).record(messages)).toEqual([{ kind: 'poison', reason: 'not to be read' }, ACK]);
    expect([...target.stored]).toEqual(['a', 'b']);
  });
});

describe('errors of the database', () => {
  it('that are transient are retried at once', async () => {
    const target = store([codeError('40P01'), codeError('40001')]);

    expect(await recorder(target).record([messageOf(batch('m', ['a']))])).toEqual([ACK]);
  });

  it('that do not concern the data keep the message, with growing backoff', async () => {
    const target = store([codeError('53100'), codeError('53100')]);

    const [first] = await recorder(target).record([messageOf(batch('m', ['a']), 1)]);
    const [later] = await recorder(target).record([messageOf(batch('m', ['a']), 5)]);

    expect(first).toMatchObject({ kind: 'retry' });
    expect(later).toMatchObject({ kind: 'retry' });
    if (first?.kind === 'retry' && later?.kind === 'retry') expect(later.afterMs).toBeGreaterThan(first.afterMs);
  });

  it.each([
    ['22P05', 'data'],
    ['23502', 'data'],
    ['54001', 'data'],
    ['40P01', 'again'],
    // Without a constraint name: the partition was attached in the meantime.
    ['23514', 'again'],
    ['53100', 'away'],
    ['57P01', 'away'],
    ['57014', 'away'],
    ['08006', 'away'],
    ['42501', 'away'],
    ['ECONNREFUSED', 'away'],
  ])('%s is classified as %s', (code, fault) => {
    expect(databaseFault(codeError(code))).toBe(fault);
  });

  it('without a code count as an unavailable database', () => {
    expect(databaseFault(new Error('Query read timeout'))).toBe('away');
    expect(databaseFault(undefined)).toBe('away');
  });
});
