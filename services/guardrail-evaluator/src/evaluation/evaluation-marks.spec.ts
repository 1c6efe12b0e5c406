import { agentEvents } from '@agentlens/contracts';
import type { Received } from '@agentlens/messaging';
import { createMemoryState, type EvaluatedMessage } from '@agentlens/state';
import { aBatch, anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EvaluationMarks } from './evaluation-marks.ts';

const NOON_MS = Date.parse('2026-03-01T12:00:00.000Z');

function received(sequence: number, events: number): Received<ReturnType<typeof aBatch>> {
  const value = aBatch({ events: Array.from({ length: events }, () => anEvent()) });
  const subject = agentEvents.subject(value);
  const facts = { subject, messageId: value.id, attempt: 1, sequence, publishedAtMs: NOON_MS, headers: {} };
  return { value, raw: Buffer.from(''), ...facts };
}

/** A tally that keeps its marks, and fails while it is unavailable. */
function aTally() {
  const written: EvaluatedMessage[] = [];
  return {
    away: false,
    written,
    async add(messages: readonly EvaluatedMessage[]): Promise<void> {
      if (this.away) throw new Error('Redis is away');
      written.push(...messages);
    },
    read: async () => new Map<string, number>(),
  };
}

describe('evaluation marks', () => {
  it('report how many events of a tenant and minute were evaluated', async () => {
    const { evaluationTally } = createMemoryState();
    const marks = new EvaluationMarks(
      evaluationTally,
      () => undefined,
      () => undefined,
    );
    await marks.add([received(1, 3), received(2, 2)]);
    await marks.add([received(2, 2)]);
    expect(await evaluationTally.read(NOON_MS)).toEqual(new Map([['acme', 5]]));
  });

  it('retry after a failure together with the next marks', async () => {
    const tally = aTally();
    const errors: unknown[] = [];
    tally.away = true;
    const marks = new EvaluationMarks(
      tally,
      (error) => errors.push(error),
      () => undefined,
    );
    await marks.add([received(1, 1)]);
    await marks.add([received(2, 1)]);
    tally.away = false;
    await marks.add([received(3, 1)]);
    expect(tally.written.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(errors).toHaveLength(2);
  });

  it('count exactly the marks that were never written as dropped, however long the tally is unavailable', async () => {
    const steps = fc.array(fc.record({ messages: fc.nat({ max: 6 }), away: fc.boolean() }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 8 }), async (rounds, maxOwed) => {
        const tally = aTally();
        let [dropped, evaluated] = [0, 0];
        const marks = new EvaluationMarks(
          tally,
          () => undefined,
          (count) => (dropped += count),
          maxOwed,
        );
        for (const { messages, away } of rounds) {
          tally.away = away;
          await marks.add(Array.from({ length: messages }, () => received(++evaluated, 1)));
        }
        tally.away = false;
        await marks.add([]);
        expect(tally.written.length + dropped).toBe(evaluated);
      }),
    );
  });
});
