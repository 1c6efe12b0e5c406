import { createMemoryState, type Quota, type QuotaAnswer } from '@agentlens/state';
import { fixedClock } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LeasedQuota } from './quotas.ts';

/** The shared quota with a count of its requests. */
class CountedQuota implements Quota {
  asked = 0;
  readonly #quota: Quota;

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  take(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer> {
    this.asked += 1;
    return this.#quota.take(keyId, cost, perSecond, nowMs);
  }
}

const PER_SECOND = 1_000;
const SLICE = 20;

describe('a leased quota', () => {
  const clock = fixedClock();
  let shared: CountedQuota;
  let quota: LeasedQuota;
  const take = (cost: number, perSecond = PER_SECOND) => quota.take('key', cost, perSecond, clock.now());

  beforeEach(() => {
    shared = new CountedQuota(createMemoryState({ clock }).quota);
    quota = new LeasedQuota(shared);
  });

  it('leases once for many small requests and reports what is left after each', async () => {
    const answers: QuotaAnswer[] = [];
    for (let request = 0; request < SLICE; request++) answers.push(await take(1));
    expect(shared.asked).toBe(1);
    expect(answers.map(({ remaining }) => remaining)).toEqual(Array.from({ length: SLICE }, (_, used) => 999 - used));
    expect(answers[0]).toMatchObject({ allowed: true, limit: PER_SECOND });
  });

  it('leases once for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: SLICE }, async () => take(1)));
    expect(answers.every(({ allowed }) => allowed)).toBe(true);
    expect(shared.asked).toBe(1);
  });

  it('asks for every request of a small key, and for every large request', async () => {
    for (let request = 0; request < 3; request++) await take(1, 10);
    for (let request = 0; request < 3; request++) await take(SLICE);
    expect(shared.asked).toBe(6);
  });

  it('rejects when the shared bucket is empty, and grants what refills', async () => {
    const admitted = async () => {
      let events = 0;
      for (let request = 0; request < 3 * PER_SECOND; request++) if ((await take(1)).allowed) events += 1;
      return events;
    };
    expect(await admitted()).toBe(PER_SECOND);
    clock.advance(500);
    expect(await admitted()).toBe(PER_SECOND / 2);
  });

  it('never grants a key more than its bucket and its rate over any period', async () => {
    const request = fc.record({ waitMs: fc.nat(40), cost: fc.integer({ min: 1, max: 10 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 200 }), async (requests) => {
        const own = fixedClock();
        const leased = new LeasedQuota(createMemoryState({ clock: own }).quota);
        const startMs = own.now();
        let admitted = 0;
        for (const { waitMs, cost } of requests) {
          own.advance(waitMs);
          const { allowed } = await leased.take('key', cost, 400, own.now());
          if (allowed) admitted += cost;
          expect(admitted).toBeLessThanOrEqual(400 + ((own.now() - startMs) * 400) / 1000);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('drops what a key did not use', async () => {
    await take(1);
    clock.advance(9_999);
    await take(1);
    expect(shared.asked).toBe(1);
    clock.advance(1);
    await take(1);
    expect(shared.asked).toBe(2);
  });

  it('includes what refilled since the last request', async () => {
    for (let request = 0; request < 5 * SLICE; request++) await take(1);
    expect((await take(1)).remaining).toBe(PER_SECOND - 5 * SLICE - 1);
    clock.advance(50);
    expect((await take(1)).remaining).toBe(PER_SECOND - 5 * SLICE - 2 + 50);
    clock.advance(5_000);
    expect((await take(1)).remaining).toBe(PER_SECOND);
  });
});
