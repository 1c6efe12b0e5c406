import { describe, expect, it } from '@jest/globals';
import type { IdempotencyStore } from '../state-stores.ts';
import { fresh, START_MS } from './requests.ts';

/** What every IdempotencyStore does. */
export function idempotencyStoreContract(name: string, stores: () => IdempotencyStore): void {
  describe(`${name} as idempotency store`, () => {
    const request = { bodyHash: 'a'.repeat(64), receivedAtMs: START_MS };

    it('answers a new request itself, and the first one for every later', async () => {
      const key = fresh('key');
      expect(await stores().remember('acme', key, request)).toEqual(request);
      const retry = { bodyHash: 'b'.repeat(64), receivedAtMs: START_MS + 1 };
      expect(await stores().remember('acme', key, retry)).toEqual(request);
    });

    it('answers one and the same request to all that come at the same time', async () => {
      const key = fresh('key');
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          stores().remember('acme', key, { bodyHash: 'c'.repeat(64), receivedAtMs: START_MS + index }),
        ),
      );
      for (const answer of answers) expect(answer).toEqual(answers[0]);
    });

    it('keeps tenants apart', async () => {
      const key = fresh('key');
      await stores().remember('acme', key, request);
      const other = { bodyHash: 'b'.repeat(64), receivedAtMs: START_MS + 1 };
      expect(await stores().remember('globex', key, other)).toEqual(other);
    });

    it('takes a key of any length and any characters', async () => {
      const key = `${fresh('key')} {}:\n\u{1f600}${'x'.repeat(5000)}`;
      expect(await stores().remember('acme', key, request)).toEqual(request);
    });

    describe('of a request that is carried out once', () => {
      const once = { requestHash: 'a'.repeat(64), startedAtMs: START_MS };

      it('gives its key to one of those who ask at the same time', async () => {
        const key = fresh('key');
        const answers = await Promise.all(Array.from({ length: 8 }, () => stores().begin('acme', key, once)));
        expect(answers.filter((answer) => answer === null)).toHaveLength(1);
        expect(answers.filter((answer) => answer !== null)).toEqual(Array(7).fill(once));
      });

      it('keeps what came of it, for its tenant', async () => {
        const key = fresh('key');
        const finished = { ...once, result: { kind: 'answered', answer: 'sealed' } } as const;
        await stores().begin('acme', key, once);
        await stores().finish('acme', key, finished);
        expect(await stores().begin('acme', key, once)).toEqual(finished);
        expect(await stores().begin('globex', key, once)).toBeNull();
      });

      it('forgets it once it gave its key back', async () => {
        const key = fresh('key');
        await stores().begin('acme', key, once);
        await stores().release('acme', key);
        expect(await stores().begin('acme', key, once)).toBeNull();
      });

      it('has nothing to do with the batches of events under the same key', async () => {
        const key = fresh('key');
        await stores().remember('acme', key, request);
        expect(await stores().begin('acme', key, once)).toBeNull();
      });
    });

    it('names the event ids that are known with another content', async () => {
      const [same, changed, added] = [fresh('event'), fresh('event'), fresh('event')];
      const before = [same, changed].map((id) => ({ id, hash: '1'.repeat(64) }));
      expect(await stores().conflicts('acme', before)).toEqual([]);
      expect(
        await stores().conflicts('acme', [
          { id: same, hash: '1'.repeat(64) },
          { id: changed, hash: '2'.repeat(64) },
          { id: added, hash: '2'.repeat(64) },
        ]),
      ).toEqual([changed]);
      expect(await stores().conflicts('globex', [{ id: changed, hash: '2'.repeat(64) }])).toEqual([]);
    });

    it('goes on knowing the first content after a conflict', async () => {
      const id = fresh('event');
      await stores().conflicts('acme', [{ id, hash: '1'.repeat(64) }]);
      await stores().conflicts('acme', [{ id, hash: '2'.repeat(64) }]);
      expect(await stores().conflicts('acme', [{ id, hash: '1'.repeat(64) }])).toEqual([]);
    });

    it('sees a conflict inside one batch, and nothing in an empty one', async () => {
      const id = fresh('event');
      const twice = ['1', '2'].map((digit) => ({ id, hash: digit.repeat(64) }));
      expect(await stores().conflicts('acme', twice)).toEqual([id]);
      expect(await stores().conflicts('acme', [])).toEqual([]);
    });
  });
}
