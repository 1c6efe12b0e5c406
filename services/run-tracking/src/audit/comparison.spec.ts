import { agentEvents, type EventBatch, eventBatchHeaders, factsOfBatch } from '@agentlens/contracts';
import type { MessageEnvelope } from '@agentlens/messaging';
import { minuteOf } from '@agentlens/state';
import { aBatch, anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { judgeMinute, minuteTallies } from './minutes.ts';

const NOON_MS = Date.parse('2026-03-01T12:00:00.000Z');

const envelopeOf = (batch: EventBatch, sequence: number): MessageEnvelope => ({
  subject: agentEvents.subject(batch),
  sequence,
  headers: eventBatchHeaders(factsOfBatch(batch)),
});

/** Messages of two tenants over three minutes. There are few ids, so many events are duplicates. */
const message = fc
  .record({
    tenantId: fc.constantFrom('acme', 'globex'),
    atMs: fc.integer({ min: NOON_MS, max: NOON_MS + 179_999 }),
    ids: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 6 }),
  })
  .map(({ tenantId, atMs, ids }) => {
    const events = ids.map((id) => anEvent({ id: `e${id}`, occurredAt: `2026-03-0${1 + (id % 3)}T00:00:00.000Z` }));
    return aBatch({ tenantId, receivedAt: new Date(atMs).toISOString(), events });
  });
const traffic = fc.array(message, { minLength: 1, maxLength: 40 });
const minuteAt = ({ receivedAt }: EventBatch) => minuteOf(Date.parse(receivedAt));

/** Models a store that receives messages in any order: the first message with an event sets its time of arrival. */
function storedAfter(order: readonly EventBatch[]): Map<string, number> {
  const rows = new Map<string, number>();
  for (const batch of order) {
    for (const { id } of batch.events) {
      const key = `${batch.tenantId} ${id}`;
      if (!rows.has(key)) rows.set(key, minuteAt(batch));
    }
  }
  return rows;
}

/** Returns the auditor's verdicts for stored rows and evaluated messages, by tenant and minute. */
async function verdicts(
  messages: readonly EventBatch[],
  rows: ReadonlyMap<string, number>,
  evaluated: Set<EventBatch>,
) {
  const results = [];
  for (const tally of minuteTallies(messages.map((batch, index) => envelopeOf(batch, index + 1)))) {
    const minute = Date.parse(tally.minute);
    const own = messages.filter((batch) => batch.tenantId === tally.tenantId && minuteAt(batch) === minute);
    const inMinute = [...rows].filter(([key, at]) => at === minute && key.startsWith(`${tally.tenantId} `));
    const finished = own.filter((batch) => evaluated.has(batch));
    const lost = new Set(own.flatMap(({ events }) => events.map(({ id }) => `${tally.tenantId} ${id}`)));
    for (const key of rows.keys()) lost.delete(key);
    const counts = {
      accepted: tally.accepted,
      stored: inMinute.length,
      evaluated: finished.reduce((sum, { events }) => sum + events.length, 0),
    };
    const verdict = await judgeMinute(counts, async () => lost.size);
    results.push({ ...verdict, lost: lost.size, waiting: counts.accepted - counts.evaluated });
  }
  return results;
}

describe('comparing accepted events with stored and evaluated events', () => {
  it('finds no difference if everything arrived, with any duplicates and in any order', async () => {
    await fc.assert(
      fc.asyncProperty(
        traffic.chain((messages) =>
          fc.tuple(fc.constant(messages), fc.shuffledSubarray(messages, { minLength: messages.length })),
        ),
        async ([messages, order]) => {
          const found = await verdicts(messages, storedAfter(order), new Set(messages));
          for (const { notStored, notEvaluated } of found)
            expect({ notStored, notEvaluated }).toEqual({ notStored: 0, notEvaluated: 0 });
        },
      ),
    );
  });

  it('finds every missing row and every unevaluated message, exactly, in each minute that accepted it', async () => {
    await fc.assert(
      fc.asyncProperty(traffic, fc.infiniteStream(fc.integer({ min: 0, max: 4 })), async (messages, dice) => {
        const rows = storedAfter(messages);
        for (const key of [...rows.keys()]) if (dice.next().value === 0) rows.delete(key);
        const evaluated = new Set(messages.filter(() => dice.next().value !== 0));
        for (const { notStored, notEvaluated, lost, waiting } of await verdicts(messages, rows, evaluated)) {
          expect({ notStored, notEvaluated }).toEqual({ notStored: lost, notEvaluated: waiting });
        }
      }),
    );
  });

  it('does not look up single events if the counts agree', async () => {
    const counts = { accepted: 100, stored: 100, evaluated: 100 };
    const never = () => Promise.reject(new Error('must not be called'));
    expect(await judgeMinute(counts, never)).toEqual({ notStored: 0, notEvaluated: 0 });
  });
});

describe('tallies of a minute', () => {
  it('contain the stream positions of their events', () => {
    const on = (...days: string[]) => days.map((day) => anEvent({ occurredAt: `${day}T10:00:00.000Z` }));
    const at = (receivedAt: string, events: EventBatch['events']) => aBatch({ receivedAt, events });
    const envelopes = [
      envelopeOf(at('2026-03-01T12:00:01.000Z', on('2026-03-01')), 7),
      envelopeOf(at('2026-03-01T12:00:59.999Z', on('2026-02-27', '2026-03-02')), 9),
    ];
    expect(minuteTallies(envelopes)).toEqual([
      {
        tenantId: 'acme',
        minute: '2026-03-01T12:00:00.000Z',
        accepted: 3,
        firstSequence: 7,
        lastSequence: 9,
      },
    ]);
  });

  it('skip messages without counts', () => {
    expect(minuteTallies([{ subject: 'agent.events.00.acme', sequence: 1, headers: {} }])).toEqual([]);
  });
});
