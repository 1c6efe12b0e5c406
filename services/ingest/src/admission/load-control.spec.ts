import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairShare } from './fair-share.ts';
import { LoadControl } from './load-control.ts';
import { type EvaluationLag, Overload } from './overload.ts';

const TICK_MS = 250;
const STEP_MS = 10;
const SECONDS = 60;

interface Outcome {
  /** Share of its offered events that each tenant got in, over the second half. */
  readonly admitted: readonly number[];
  /** Events handled per second over the second half. */
  readonly goodput: number;
  readonly worstLagMs: number;
}

const SECOND_HALF_MS = (SECONDS * 1000) / 2;

/** Where messages are settled in the order in which they came. */
function inOrder(ageMs: number): EvaluationLag {
  return { pending: ageMs > 0 ? 1 : 0, oldestAgeMs: ageMs, backlogAgeMs: ageMs };
}

/**
 * A platform that handles `capacity` events per second in order, behind a gateway that sheds. Evaluation is away for the
 * first `awayMs` of the second half.
 */
function simulate(capacity: number, offered: readonly number[], awayMs = 0): Outcome {
  const control = new LoadControl();
  const queue: { atMs: number; events: number }[] = [];
  const got = offered.map(() => 0);
  let handled = 0;
  let credit = 0;
  let worstLagMs = 0;
  for (let nowMs = 0; nowMs < SECONDS * 1000; nowMs += STEP_MS) {
    const counting = nowMs >= SECOND_HALF_MS;
    const isAway = counting && nowMs < SECOND_HALF_MS + awayMs;
    offered.forEach((perSecond, tenant) => {
      const events = (perSecond * STEP_MS) / 1000;
      if (control.admit(`t${tenant}`, events, nowMs) !== null) return;
      queue.push({ atMs: nowMs, events });
      if (counting) got[tenant] = (got[tenant] ?? 0) + events;
    });
    credit = isAway ? 0 : Math.min(capacity, credit + (capacity * STEP_MS) / 1000);
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
  it('holds nobody back while the platform keeps up', () => {
    const { admitted } = simulate(10_000, [5_000, 3_000]);
    for (const share of admitted) expect(share).toBeCloseTo(1, 2);
  });

  it('keeps most of the goodput at three times the capacity, from one tenant or from many', () => {
    for (const offered of [[30_000], [10_000, 10_000, 10_000], Array.from({ length: 20 }, () => 1_500)]) {
      expect(simulate(10_000, offered).goodput).toBeGreaterThan(8_000);
    }
  });

  it('lets a quiet tenant through untouched beside one that floods, whatever the numbers', () => {
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

  it('lets everybody in again soon after evaluation was away', () => {
    expect(simulate(10_000, [2_000], 3_000).admitted[0]).toBeGreaterThan(0.98);
  });

  it('keeps the backlog bounded', () => {
    expect(simulate(10_000, [30_000]).worstLagMs).toBeLessThan(2_500);
  });
});

describe('FairShare', () => {
  /** One second in which each tenant offers what the array says, then the allowance shared out. */
  function sharing(offered: readonly number[], perSecond: number): FairShare {
    const shares = new FairShare();
    for (let second = 0; second < 30; second++) {
      for (const [tenant, events] of offered.entries()) shares.admit(`t${tenant}`, events, second * 1_000);
      shares.share(perSecond, 1_000);
    }
    return shares;
  }

  it('comes down on the loudest and leaves the others what they ask for', () => {
    expect(sharing([10_000, 500, 300], 2_800).level).toBeCloseTo(2_000, 0);
    expect(sharing([10_000, 10_000], 4_000).level).toBeCloseTo(2_000, 0);
    expect(sharing([10, 20], 100).level).toBe(Number.POSITIVE_INFINITY);
  });

  it('says how long to wait, and lets the events in then', () => {
    const shares = sharing([10_000], 1_000);
    let nowMs = 40_000;
    while (shares.admit('t0', 100, nowMs) === null);
    const waitMs = shares.admit('t0', 100, nowMs) ?? 0;
    expect(waitMs).toBeGreaterThan(0);
    nowMs += waitMs;
    expect(shares.admit('t0', 100, nowMs)).toBeNull();
  });

  it('lets a request larger than a whole share through when its turn comes', () => {
    const shares = sharing([10_000], 100);
    expect(shares.admit('other', 1_000, 40_000)).toBeNull();
    expect(shares.admit('other', 1, 41_000)).toBeGreaterThan(0);
  });
});

describe('Overload', () => {
  it('is not seen in an outage, where the backlog ages with the clock', () => {
    const overload = new Overload();
    const seen = Array.from({ length: 40 }, (_, i) => overload.read(inOrder(i * TICK_MS), i * TICK_MS));
    expect(seen).not.toContain(true);
  });

  it('is seen where messages are settled and the backlog is old all the same', () => {
    const overload = new Overload();
    const seen = Array.from({ length: 40 }, (_, i) => overload.read(inOrder(i * TICK_MS * 0.6), i * TICK_MS));
    expect(seen.slice(12)).not.toContain(false);
  });

  it('is not seen where the oldest is held by somebody who is gone, and all others are settled', () => {
    const overload = new Overload();
    const seen = Array.from({ length: 40 }, (_, i) =>
      overload.read({ pending: 0, oldestAgeMs: 3_000 + i * TICK_MS, backlogAgeMs: 3_000 }, i * TICK_MS),
    );
    expect(seen.slice(4)).not.toContain(true);
  });

  it('is seen where more wait behind what somebody holds who is gone', () => {
    const overload = new Overload();
    const seen = Array.from({ length: 40 }, (_, i) =>
      overload.read({ pending: 5, oldestAgeMs: 3_000 + i * TICK_MS, backlogAgeMs: 3_000 }, i * TICK_MS),
    );
    expect(seen.slice(4)).not.toContain(false);
  });

  it('is over when evaluation has caught up', () => {
    const overload = new Overload();
    overload.read(inOrder(5_000), 0);
    expect(overload.read(inOrder(10), 250)).toBe(false);
  });
});
