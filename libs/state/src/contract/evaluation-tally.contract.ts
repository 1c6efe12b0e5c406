import { MINUTE_MS } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { EvaluatedMessage, EvaluationTally } from '../state-stores.ts';
import { fresh } from './requests.ts';

const NOON = Date.parse('2026-03-01T12:00:00.000Z');
let minutes = 0;

/** Contract of every EvaluationTally. */
export function evaluationTallyContract(name: string, tally: () => EvaluationTally, numRuns: number): void {
  describe(`evaluation tally contract: ${name}`, () => {
    /** A minute that no other test writes to. */
    const freshMinute = () => {
      minutes += 1;
      return NOON + minutes * MINUTE_MS;
    };

    it('is empty for a minute without messages', async () => {
      expect(await tally().read(freshMinute())).toEqual(new Map());
    });

    it('sums by tenant and by minute of arrival', async () => {
      const [first, second] = [freshMinute(), freshMinute()];
      const [tenantId, other] = [fresh('tenant'), fresh('tenant')];
      await tally().add([
        { tenantId, receivedAtMs: first, sequence: 1, events: 10 },
        { tenantId, receivedAtMs: first + MINUTE_MS - 1, sequence: 2, events: 5 },
        { tenantId: other, receivedAtMs: first, sequence: 3, events: 1 },
        { tenantId, receivedAtMs: second, sequence: 4, events: 7 },
      ]);
      expect(await tally().read(first)).toEqual(
        new Map([
          [tenantId, 15],
          [other, 1],
        ]),
      );
      expect(await tally().read(second)).toEqual(new Map([[tenantId, 7]]));
    });

    it('counts each message once, in any order and however often it is evaluated', async () => {
      const message = fc.record({
        sequence: fc.integer({ min: 1, max: 2 ** 45 }),
        events: fc.integer({ min: 1, max: 500 }),
      });
      const list = fc.uniqueArray(message, { minLength: 1, maxLength: 30, selector: ({ sequence }) => sequence });
      await fc.assert(
        fc.asyncProperty(list, fc.array(fc.nat()), async (messages, again) => {
          const [tenantId, receivedAtMs] = [fresh('tenant'), freshMinute()];
          const all: EvaluatedMessage[] = messages.map((one) => ({ ...one, tenantId, receivedAtMs }));
          const repeats = again.flatMap((n) => all[n % all.length] ?? []);
          await Promise.all([tally().add(all), tally().add(repeats)]);
          await tally().add(all.toReversed());
          const sum = all.reduce((total, { events }) => total + events, 0);
          expect(await tally().read(receivedAtMs)).toEqual(new Map([[tenantId, sum]]));
        }),
        { numRuns },
      );
    });
  });
}
