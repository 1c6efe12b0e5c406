import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Bucket, type Quota, takeFrom } from '../quota.ts';
import { fresh, START_MS } from './requests.ts';

/** Contract of every Quota. */
export function quotaContract(name: string, quotas: () => Quota, numRuns: number): void {
  describe(`${name} as quota`, () => {
    it('allows a burst of one second and refuses the next event', async () => {
      const key = fresh('key');
      expect(await quotas().take(key, 100, 100, START_MS)).toEqual({
        allowed: true,
        limit: 100,
        remaining: 0,
        retryAfterMs: 1000,
      });
      expect(await quotas().take(key, 1, 100, START_MS)).toEqual({
        allowed: false,
        limit: 100,
        remaining: 0,
        retryAfterMs: 10,
      });
    });

    it('refills over time, up to the burst', async () => {
      const key = fresh('key');
      await quotas().take(key, 100, 100, START_MS);
      expect((await quotas().take(key, 50, 100, START_MS + 500)).allowed).toBe(true);
      expect(await quotas().take(key, 40, 100, START_MS + 60_000)).toMatchObject({ allowed: true, remaining: 60 });
    });

    it('does not charge a refused request', async () => {
      const key = fresh('key');
      await quotas().take(key, 60, 100, START_MS);
      expect((await quotas().take(key, 60, 100, START_MS)).allowed).toBe(false);
      expect(await quotas().take(key, 40, 100, START_MS)).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('allows a request larger than the bucket and then collects the debt', async () => {
      const key = fresh('key');
      expect((await quotas().take(key, 300, 100, START_MS)).allowed).toBe(true);
      expect(await quotas().take(key, 1, 100, START_MS)).toMatchObject({
        allowed: false,
        remaining: 0,
        retryAfterMs: 2010,
      });
      expect((await quotas().take(key, 1, 100, START_MS + 2010)).allowed).toBe(true);
    });

    it('is separate for each key', async () => {
      await quotas().take(fresh('key'), 100, 100, START_MS);
      expect((await quotas().take(fresh('key'), 100, 100, START_MS)).allowed).toBe(true);
    });

    it('adds no tokens if the clock goes backwards', async () => {
      const key = fresh('key');
      await quotas().take(key, 100, 100, START_MS);
      expect((await quotas().take(key, 1, 100, START_MS - 5000)).allowed).toBe(false);
    });

    it('never exceeds burst and rate, and answers like the plain token bucket', async () => {
      const call = fc.record({ afterMs: fc.integer({ min: -50, max: 400 }), cost: fc.integer({ min: 1, max: 30 }) });
      await fc.assert(
        fc.asyncProperty(fc.array(call, { maxLength: 20 }), fc.integer({ min: 1, max: 50 }), async (calls, rate) => {
          const key = fresh('key');
          let nowMs = START_MS;
          let bucket: Bucket | undefined;
          for (const { afterMs, cost } of calls) {
            nowMs += afterMs;
            const model = takeFrom(bucket, cost, rate, nowMs);
            bucket = model.bucket;
            expect(await quotas().take(key, cost, rate, nowMs)).toEqual(model.answer);
          }
        }),
        { numRuns },
      );
    });
  });
}
