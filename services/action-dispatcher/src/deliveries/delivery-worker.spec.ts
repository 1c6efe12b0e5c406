import { eventually, fixedClock } from '@agentlens/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import { createDeliver } from './deliver.ts';
import type { Claim } from './deliveries.repository.ts';
import { AT, aDelivery } from './delivery.testing.ts';
import { DeliveryWorker, type LaneLimits } from './delivery-worker.ts';
import type { Attempted, Carried, Unattempted } from './execution.ts';

/** Longer than any test, so that no test depends on the poll. */
const NEVER_MS = 3_600_000;
const PATIENCE_MS = 4_000;
const share = (total: number, perDestination: number) => ({ total, perDestination, perTenant: total });
const ONE_AT_A_TIME: LaneLimits = { running: share(8, 1), held: share(16, 4) };

/** A worker whose claims and attempts end when the test decides. */
class Bench {
  readonly clock = fixedClock(AT);
  readonly claims: { readonly claim: Claim; readonly answer: (brought: ClaimedDelivery[]) => void }[] = [];
  readonly attempts = new Map<string, PromiseWithResolvers<Attempted['ending']>>();
  /** If set, attempts end with it synchronously. */
  endsAtOnce: Unattempted | undefined;
  readonly recorded: string[] = [];
  /** Deliveries whose results cannot be recorded. */
  readonly unrecorded = new Set<string>();
  readonly errors: unknown[] = [];
  readonly released: string[] = [];
  readonly worker: DeliveryWorker;

  constructor(limits: LaneLimits) {
    this.worker = new DeliveryWorker({
      lane: 'outbound',
      limits,
      deliveries: {
        claim: (claim) => {
          const answer = Promise.withResolvers<ClaimedDelivery[]>();
          this.claims.push({ claim, answer: answer.resolve });
          return answer.promise;
        },
        release: async (given) => void this.released.push(...given.map(({ deliveryId }) => deliveryId)),
      },
      deliver: this.#deliver(),
      now: () => this.clock.now(),
      leaseMs: 30_000,
      patienceMs: PATIENCE_MS,
      pollMs: NEVER_MS,
      onError: (error, delivery) => {
        if (delivery === undefined) throw error;
        this.errors.push(error);
      },
    });
  }

  /** A delivery whose attempt ends when the test decides. */
  #deliver() {
    const now = () => this.clock.now();
    const carryOut = async ({ deliveryId }: ClaimedDelivery): Promise<Carried> => {
      if (this.endsAtOnce !== undefined) return { ending: this.endsAtOnce };
      const ending = Promise.withResolvers<Attempted['ending']>();
      this.attempts.set(deliveryId, ending);
      return { ending: await ending.promise, urgency: 'notification', attemptedAt: now() };
    };
    return createDeliver({
      carryOut,
      results: {
        record: async ({ deliveryId }) => {
          if (this.unrecorded.has(deliveryId)) throw new Error('the database is away');
          this.recorded.push(deliveryId);
        },
      },
      metrics: { ended: () => undefined, delivered: () => undefined },
      now,
      random: () => 0,
    });
  }

  /** Waits for claim number `n` (from 1) and answers it. */
  async answerClaim(n: number, brought: ClaimedDelivery[] = []): Promise<void> {
    await eventually(() => expect(this.claims.length).toBeGreaterThanOrEqual(n));
    this.claims[n - 1]?.answer(brought);
  }

  async end(deliveryId: string): Promise<void> {
    await this.begun(deliveryId);
    this.attempts.get(deliveryId)?.resolve({ kind: 'delivered' });
    await eventually(() => expect(this.recorded).toContain(deliveryId));
  }

  begun(...ids: string[]): Promise<void> {
    return eventually(() => expect([...this.attempts.keys()]).toEqual(expect.arrayContaining(ids)));
  }

  /** Every failure is one that the test caused. */
  async stop(): Promise<void> {
    expect(this.errors).toHaveLength(this.unrecorded.size);
    const stopped = this.worker.stop(1_000);
    for (const { answer } of this.claims) answer([]);
    for (const attempt of this.attempts.values()) attempt.resolve({ kind: 'delivered' });
    await stopped;
  }
}

describe('a lane', () => {
  let bench: Bench;
  afterEach(() => bench.stop());
  function start(limits = ONE_AT_A_TIME): Bench {
    bench = new Bench(limits);
    bench.worker.start();
    return bench;
  }

  it('claims again if it was woken during a claim', async () => {
    const { worker } = start();
    await eventually(() => expect(bench.claims).toHaveLength(1));
    worker.wake();
    await bench.answerClaim(1);
    await eventually(() => expect(bench.claims).toHaveLength(2));
  });

  it('claims again if leases that limited a claim ended while it ran', async () => {
    const { worker } = start({ running: share(8, 4), held: share(8, 4) });
    await bench.answerClaim(1, [aDelivery('a'), aDelivery('b')]);
    worker.wake();
    await eventually(() => expect(bench.claims).toHaveLength(2));
    expect(bench.claims[1]?.claim.room.destinations).toMatchObject([{ free: 2 }]);
    for (const id of ['a', 'b']) await bench.end(id);
    await bench.answerClaim(2, [aDelivery('c'), aDelivery('d')]);
    await eventually(() => expect(bench.claims).toHaveLength(3));
    expect(bench.claims[2]?.claim.room.destinations).toMatchObject([{ free: 2 }]);
  });

  it('starts reserved deliveries without a claim', async () => {
    const { worker } = start();
    await bench.answerClaim(1);
    const [first, second] = [aDelivery('first'), aDelivery('second')];
    expect([worker.reserve(first), worker.reserve(second)]).toEqual([true, true]);
    worker.begin([first, second]);
    await bench.begun('first');
    expect(bench.attempts.has('second')).toBe(false);
    await bench.end('first');
    await bench.end('second');
    expect(bench.claims).toHaveLength(1);
  });

  it('never exceeds the share of a destination and does not hold up others', async () => {
    const { worker } = start();
    await bench.answerClaim(1);
    const slow = ['s1', 's2', 's3'].map((id) => aDelivery(id, 'slow'));
    for (const delivery of slow) expect(worker.reserve(delivery)).toBe(true);
    worker.begin(slow);
    const quick = aDelivery('quick', 'quick');
    expect(worker.reserve(quick)).toBe(true);
    worker.begin([quick]);
    await bench.begun('s1', 'quick');
    expect([...bench.attempts.keys()]).toEqual(['s1', 'quick']);
  });

  it('runs more attempts for a fast destination until it hangs', async () => {
    const { worker } = start({ running: share(64, 1), held: share(128, 16) });
    await bench.answerClaim(1);
    const begin = (...ids: string[]) => {
      for (const id of ids) expect(worker.reserve(aDelivery(id))).toBe(true);
      worker.begin(ids.map((id) => aDelivery(id)));
    };
    for (let n = 0; n < 48; n++) {
      begin(`quick ${n}`);
      await bench.end(`quick ${n}`);
    }
    begin('a', 'b', 'c', 'd', 'e', 'f');
    await bench.begun('a', 'b', 'c', 'd');
    expect(bench.attempts.has('e')).toBe(false);

    bench.clock.advance(PATIENCE_MS - 1);
    for (const id of ['a', 'b', 'c']) await bench.end(id);
    expect(bench.attempts.has('e')).toBe(false);
    await bench.end('d');
    await bench.begun('e');
    expect(bench.attempts.has('f')).toBe(false);
  });

  it('ends thousands of deliveries at once if none needs an attempt', async () => {
    const ids = Array.from({ length: 5_000 }, (_, n) => `d${n}`);
    const { worker } = start({ running: share(1, 1), held: share(5_000, 5_000) });
    bench.endsAtOnce = { kind: 'given_up', why: 'impossible', reason: 'nothing to carry out' };
    await bench.answerClaim(1);
    const deliveries = ids.map((id) => aDelivery(id));
    for (const delivery of deliveries) expect(worker.reserve(delivery)).toBe(true);
    worker.begin(deliveries);
    await eventually(() => expect(bench.recorded).toEqual(ids));
  });

  it('releases a delivery that waited too long for a slot, so that no attempt outlasts its lease', async () => {
    const { worker } = start();
    await bench.answerClaim(1);
    const deliveries = ['runs', 'waits'].map((id) => aDelivery(id));
    for (const delivery of deliveries) worker.reserve(delivery);
    worker.begin(deliveries);
    await bench.begun('runs');
    bench.clock.advance(PATIENCE_MS + 1);
    worker.wake();
    await eventually(() => expect(bench.released).toEqual(['waits']));
    await bench.end('runs');
    expect(bench.attempts.has('waits')).toBe(false);
  });

  it('releases deliveries that have not started when it stops, and reserves no more', async () => {
    const { worker } = start();
    await bench.answerClaim(1);
    const deliveries = ['runs', 'waits'].map((id) => aDelivery(id));
    for (const delivery of deliveries) worker.reserve(delivery);
    worker.begin(deliveries);
    await bench.begun('runs');
    await bench.stop();
    expect(bench.released).toEqual(['waits']);
    expect(bench.recorded).toEqual(['runs']);
    expect(worker.reserve(aDelivery('late', 'elsewhere'))).toBe(false);
  });

  it('releases the waiting deliveries of a destination that turned out to be gone, and claims again', async () => {
    const { worker } = start();
    await bench.answerClaim(1);
    const deliveries = ['gone', 'waits', 'waits too'].map((id) => aDelivery(id));
    for (const delivery of deliveries) worker.reserve(delivery);
    worker.begin(deliveries);
    await bench.begun('gone');
    bench.attempts.get('gone')?.resolve({ kind: 'rejected', reason: 'HTTP 410', disableDestination: true });
    await eventually(() => expect(bench.released).toEqual(['waits', 'waits too']));
    expect([...bench.attempts.keys()]).toEqual(['gone']);
    await eventually(() => expect(bench.claims).toHaveLength(2));
  });

  it('gives back the leases of waiting deliveries if the result that their destination is gone is not recorded', async () => {
    const { worker } = start();
    await bench.answerClaim(1);
    const deliveries = ['gone', 'waits', 'waits too'].map((id) => aDelivery(id));
    for (const delivery of deliveries) worker.reserve(delivery);
    worker.begin(deliveries);
    await bench.begun('gone');
    bench.unrecorded.add('gone');
    bench.attempts.get('gone')?.resolve({ kind: 'rejected', reason: 'HTTP 410', disableDestination: true });
    await eventually(() => expect(bench.errors).toHaveLength(1));
    expect(['a', 'b', 'c', 'd'].map((id) => worker.reserve(aDelivery(id)))).toEqual([true, true, true, true]);
  });
});
