import { describe, expect, it } from '@jest/globals';
import type { IdempotencyStore } from '../state-stores.ts';
import { fresh, START_MS } from './requests.ts';

/** Contract of every IdempotencyStore. */
export function idempotencyStoreContract(name: string, stores: () => IdempotencyStore): void {
  describe(`idempotency store contract: ${name}`, () => {
    const request = { bodyHash: 'a'.repeat(64), receivedAtMs: START_MS };

    it('returns the first request under a key to every later one', async () => {
      const key = fresh('key');
      expect(await stores().remember('acme', key, request)).toEqual(request);
      const retry = { bodyHash: 'b'.repeat(64), receivedAtMs: START_MS + 1 };
      expect(await stores().remember('acme', key, retry)).toEqual(request);
    });

    it('finds a remembered request and remembers nothing by looking', async () => {
      const key = fresh('key');
      expect(await stores().find('acme', key)).toBeUndefined();
      await stores().remember('acme', key, request);
      expect(await stores().find('acme', key)).toEqual(request);
      expect(await stores().find('globex', key)).toBeUndefined();
    });

    it('returns the same request to all concurrent callers', async () => {
      const key = fresh('key');
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          stores().remember('acme', key, { bodyHash: 'c'.repeat(64), receivedAtMs: START_MS + index }),
        ),
      );
      for (const answer of answers) expect(answer).toEqual(answers[0]);
    });

    it('separates tenants', async () => {
      const key = fresh('key');
      await stores().remember('acme', key, request);
      const other = { bodyHash: 'b'.repeat(64), receivedAtMs: START_MS + 1 };
      expect(await stores().remember('globex', key, other)).toEqual(other);
    });

    it('accepts keys of any length with any characters', async () => {
      const key = `${fresh('key')} {}:\n\u{1f600}${'x'.repeat(5000)}`;
      expect(await stores().remember('acme', key, request)).toEqual(request);
    });

    describe('for requests that are executed once', () => {
      const once = { requestHash: 'a'.repeat(64), startedAtMs: START_MS };

      it('gives the key to one of several concurrent callers', async () => {
        const key = fresh('key');
        const answers = await Promise.all(Array.from({ length: 8 }, () => stores().begin('acme', key, once)));
        expect(answers.filter((answer) => answer === null)).toHaveLength(1);
        expect(answers.filter((answer) => answer !== null)).toEqual(Array(7).fill(once));
      });

      it('keeps the result for its tenant', async () => {
        const key = fresh('key');
        const finished = { ...once, result: { kind: 'answered', answer: 'sealed' } } as const;
        await stores().begin('acme', key, once);
        await stores().finish('acme', key, finished);
        expect(await stores().begin('acme', key, once)).toEqual(finished);
        expect(await stores().begin('globex', key, once)).toBeNull();
      });

      it('forgets a released key', async () => {
        const key = fresh('key');
        await stores().begin('acme', key, once);
        await stores().release('acme', key);
        expect(await stores().begin('acme', key, once)).toBeNull();
      });

      it('is independent of event batches under the same key', async () => {
        const key = fresh('key');
        await stores().remember('acme', key, request);
        expect(await stores().begin('acme', key, once)).toBeNull();
      });
    });

    it('returns the ids of events that are known with different content', async () => {
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

    it('keeps the first content after a conflict', async () => {
      const id = fresh('event');
      await stores().conflicts('acme', [{ id, hash: '1'.repeat(64) }]);
      await stores().conflicts('acme', [{ id, hash: '2'.repeat(64) }]);
      expect(await stores().conflicts('acme', [{ id, hash: '1'.repeat(64) }])).toEqual([]);
    });

    it('finds a conflict within one batch, and none in an empty one', async () => {
      const id = fresh('event');
      const twice = ['1', '2'].map((digit) => ({ id, hash: digit.repeat(64) }));
      expect(await stores().conflicts('acme', twice)).toEqual([id]);
      expect(await stores().conflicts('acme', [])).toEqual([]);
    });
  });
}
