import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairShare } from './fair-share.ts';
import { type EvaluationLag, LagDetector, type LagReading, type LagState, LoadControl } from './load-control.ts';

const TICK_MS = 250;
const STEP_MS = 10;
const SECONDS = 60;

interface Outcome {
  /** Share of its offered events that each tenant got admitted, over the second half. */
  readonly admitted: readonly number[];
  /** Events handled per second over the second half. */
  readonly goodput: number;
  readonly worstLagMs: number;
}

const SECOND_HALF_MS = (SECONDS * 1000) / 2;

/** The lag if messages are settled in order of arrival. */
function inOrder(ageMs: number): EvaluationLag {
  return { pending: ageMs > 0 ? 1 : 0, oldestAgeMs: ageMs, backlogAgeMs: ageMs };
}

/** A fault of evaluation at the start of the second half. */
interface Mishap {
  /** Evaluation is unavailable for this long. */
  readonly awayMs?: number;
  /** Evaluation is slower by this factor for this long. */
  readonly slow?: { readonly forMs: number; readonly times: number };
}

/** Simulates a platform that handles `capacity` events per second in order, behind a gateway that sheds load. */
function simulate(capacity: number, offered: readonly number[], { awayMs = 0, slow }: Mishap = {}): Outcome {
  const shares = new FairShare();
  const control = new LoadControl(shares);
  const queue: { atMs: number; events: number }[] = [];
  const largest = (Math.max(...offered) * STEP_MS) / 1000;
  const got = offered.map(() => 0);
  let handled = 0;
  let credit = 0;
  let worstLagMs = 0;
  for (let nowMs = 0; nowMs < SECONDS * 1000; nowMs += STEP_MS) {
    const counting = nowMs >= SECOND_HALF_MS;
    const isAway = counting && nowMs < SECOND_HALF_MS + awayMs;
    offered.forEach((perSecond, tenant) => {
      const events = (perSecond * STEP_MS) / 1000;
      if (shares.admit(`t${tenant}`, events, nowMs) !== null) return;
      queue.push({ atMs: nowMs, events });
      if (counting) got[tenant] = (got[tenant] ?? 0) + events;
    });
    const isSlow = slow !== undefined && counting && nowMs < SECOND_HALF_MS + slow.forMs;
    const able = isSlow ? capacity / slow.times : capacity;
    // Unused capacity is lost: later events cannot be handled in advance.
    credit = isAway ? 0 : Math.min(largest + (able * STEP_MS) / 1000, credit + (able * STEP_MS) / 1000);
    for (let first = queue[0]; first !== undefined && first.events <= credit; first = queue[0]) {
      credit -= first.events;
      if (counting) handled += first.events;
      queue.shift();
    }
    const lagMs = queue[0] === undefined ? 0 : nowMs - queue[0].atMs;
    if (counting) worstLagMs = Math.max(worstLagMs, lagMs);
    if (nowMs % TICK_MS === 0) control.tick(inOrder(lagMs), nowMs);
  }
  const half = SECONDS / 2;
  return {
    admitted: got.map((events, tenant) => events / ((offered[tenant] ?? 1) * half)),
    goodput: handled / half,
    worstLagMs,
  };
}

describe('LoadControl', () => {
  it('throttles no tenant while the platform keeps up', () => {
    const { admitted } = simulate(10_000, [5_000, 3_000]);
    for (const share of admitted) expect(share).toBeCloseTo(1, 2);
  });

  it('keeps most of the goodput at three times the capacity, from one tenant or from many', () => {
    for (const offered of [[30_000], [10_000, 10_000, 10_000], Array.from({ length: 20 }, () => 1_500)]) {
      expect(simulate(10_000, offered).goodput).toBeGreaterThan(8_000);
    }
  });

  it('does not affect a quiet tenant beside one that floods, for any load', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2_000, max: 20_000 }),
        fc.integer({ min: 2, max: 10 }),
        fc.integer({ min: 1, max: 90 }),
        (capacity, times, quiet) => {
          const { admitted } = simulate(capacity, [capacity * times, quiet]);
          expect(admitted[1]).toBeGreaterThan(0.99);
          expect(admitted[0]).toBeLessThan(1);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('rejects nothing because evaluation was unavailable, however long, if it can catch up', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2_000, max: 20_000 }),
        fc.double({ min: 0.1, max: 0.8, noNaN: true }),
        fc.integer({ min: 0, max: 6_000 }),
        (capacity, share, awayMs) => {
          expect(simulate(capacity, [capacity * share], { awayMs }).admitted[0]).toBeCloseTo(1, 2);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('admits every tenant again within seconds after evaluation was slow', () => {
    const slow = { forMs: 5_000, times: 10 };
    const { admitted } = simulate(10_000, [8_000], { slow });
    // Evaluation was slow for five of thirty seconds, and takes about as long to catch up.
    expect(admitted[0]).toBeGreaterThan(0.65);
    expect(admitted[0]).toBeLessThan(0.95);
  });

  it('keeps the backlog bounded', () => {
    expect(simulate(10_000, [30_000]).worstLagMs).toBeLessThan(2_500);
  });
});

describe('FairShare', () => {
  /** Lets each tenant offer its rate for one second, then divides the allowance. */
  function sharing(offered: readonly number[], perSecond: number): FairShare {
    const shares = new FairShare();
    for (let second = 0; second < 30; second++) {
      for (const [tenant, events] of offered.entries()) shares.admit(`t${tenant}`, events, second * 1_000);
      shares.share(perSecond, 1_000);
    }
    return shares;
  }

  it('lowers the level on the loudest tenants and leaves the others what they ask for', () => {
    expect(sharing([10_000, 500, 300], 2_800).level).toBeCloseTo(2_000, 0);
    expect(sharing([10_000, 10_000], 4_000).level).toBeCloseTo(2_000, 0);
    expect(sharing([10, 20], 100).level).toBe(Number.POSITIVE_INFINITY);
  });

  it('returns how long to wait, and admits the events then', () => {
    const shares = sharing([10_000], 1_000);
    let nowMs = 40_000;
    while (shares.admit('t0', 100, nowMs) === null);
    const waitMs = shares.admit('t0', 100, nowMs) ?? 0;
    expect(waitMs).toBeGreaterThan(0);
    nowMs += waitMs;
    expect(shares.admit('t0', 100, nowMs)).toBeNull();
  });

  it('admits a request larger than a whole share when its turn comes', () => {
    const shares = sharing([10_000], 100);
    expect(shares.admit('other', 1_000, 40_000)).toBeNull();
    expect(shares.admit('other', 1, 41_000)).toBeGreaterThan(0);
  });
});

describe('LagDetector', () => {
  /** The state per tick for a constant arrival rate and the given lag. */
  function judged(ticks: number, perSecond: number, lagOf: (tick: number) => EvaluationLag): LagState[] {
    const judge = new LagDetector();
    return Array.from({ length: ticks }, (_, tick) => {
      const atMs = tick * TICK_MS;
      const lag = lagOf(tick);
      const [admitted, handled] = [atMs, Math.max(0, atMs - lag.backlogAgeMs)].map((ms) => (ms * perSecond) / 1_000);
      return judge.read({ atMs, lag, admitted, handled } as LagReading);
    });
  }

  it('reports a stall if the backlog ages with the clock', () => {
    expect(new Set(judged(40, 1_000, (tick) => inOrder(tick * TICK_MS)).slice(4))).toEqual(new Set(['stalled']));
  });

  it('reports catching up from the end of a stall until the lag is gone', () => {
    const age = (tick: number) => (tick < 20 ? tick * TICK_MS : Math.max(0, 20 - (tick - 20)) * TICK_MS);
    expect(judged(40, 1_000, (tick) => inOrder(age(tick))).slice(21)).toEqual([
      ...Array(15).fill('catching up'),
      ...Array(4).fill('calm'),
    ]);
  });

  it('reports overload if messages are settled but the backlog still ages, or stays old', () => {
    for (const growth of [0.6, 0]) {
      const age = (tick: number) => 1_000 + (tick + 1) * TICK_MS * growth;
      const seen = judged(40, 1_000, (tick) => inOrder(Math.max(1_001, age(tick))));
      expect(new Set(seen.slice(12))).toEqual(new Set(['overloaded']));
    }
  });

  it('reports overload again a second after a stall if more arrives than is handled', () => {
    const age = (tick: number) => (tick < 20 ? tick * TICK_MS : (20 + (tick - 20) * 0.6) * TICK_MS);
    const seen = judged(40, 1_000, (tick) => inOrder(age(tick)));
    expect(seen.slice(20, 23)).not.toContain('overloaded');
    expect(new Set(seen.slice(25))).toEqual(new Set(['overloaded']));
  });

  it('recognises messages held by a dead consumer while all others are settled', () => {
    const held = (tick: number) => ({ pending: 0, oldestAgeMs: 3_000 + tick * TICK_MS, backlogAgeMs: 3_000 });
    expect(new Set(judged(40, 1_000, held).slice(4))).toEqual(new Set(['held']));
  });

  it('reports overload if more messages wait behind those that a dead consumer holds', () => {
    const held = (tick: number) => ({ pending: 5, oldestAgeMs: 3_000 + tick * TICK_MS, backlogAgeMs: 3_000 });
    expect(new Set(judged(40, 1_000, held).slice(12))).toEqual(new Set(['overloaded']));
  });

  it('is calm as soon as evaluation has caught up', () => {
    expect(judged(2, 1_000, (tick) => inOrder(tick === 0 ? 5_000 : 10))[1]).toBe('calm');
  });
});
