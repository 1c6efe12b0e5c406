import { beforeEach, describe, expect, it } from '@jest/globals';
import { Restraint } from './restraint.ts';

const LOOK_MS = 250;

describe('Restraint', () => {
  let nowMs: number;
  let contention: number;
  let changes: [string, boolean][];
  let restraint: Restraint;

  beforeEach(() => {
    nowMs = 0;
    contention = 1;
    changes = [];
    restraint = new Restraint((tenantId, perSecond) => void changes.push([tenantId, Number.isFinite(perSecond)]), {
      read: () => contention,
    });
  });

  /** Lets each tenant send this many events per second. */
  function pass(seconds: number, sent: Readonly<Record<string, number>>, othersAreThere = true): void {
    const end = nowMs + seconds * 1_000;
    while (nowMs < end) {
      nowMs += LOOK_MS;
      for (const [tenantId, perSecond] of Object.entries(sent)) {
        const most = Math.min(perSecond, restraint.perSecondOf(tenantId));
        restraint.begun(tenantId, (most * LOOK_MS) / 1_000, nowMs);
      }
      restraint.look(nowMs, othersAreThere);
    }
  }

  it('throttles no tenant while CPU is available', () => {
    pass(10, { loud: 10_000, quiet: 10 });
    expect(restraint.perSecondOf('loud')).toBe(Number.POSITIVE_INFINITY);
  });

  it('throttles a flood while the CPU is scarce, not below its minimum share, and no other tenant', () => {
    pass(5, { loud: 10_000, quiet: 10 });
    contention = 3;
    pass(30, { loud: 10_000, quiet: 10 });
    expect(restraint.perSecondOf('loud')).toBeCloseTo(5_000, -2);
    expect(restraint.perSecondOf('quiet')).toBe(Number.POSITIVE_INFINITY);
    expect(changes).toEqual([['loud', true]]);
  });

  it('pauses the tenant for as long as its events take at that rate', () => {
    pass(5, { loud: 10_000, quiet: 10 });
    contention = 3;
    pass(30, { loud: 10_000, quiet: 10 });
    nowMs += 10_000;
    restraint.begun('loud', 100, nowMs);
    restraint.begun('loud', 100, nowMs);
    restraint.begun('quiet', 100, nowMs);
    expect(restraint.restsUntil('loud') - nowMs).toBeCloseTo(200_000 / restraint.perSecondOf('loud'), 3);
    expect(restraint.restsUntil('quiet')).toBeLessThan(nowMs);
  });

  it('ends when CPU is available again', () => {
    pass(5, { loud: 10_000, quiet: 10 });
    contention = 3;
    pass(10, { loud: 10_000, quiet: 10 });
    contention = 1;
    pass(10, { loud: 10_000, quiet: 10 });
    expect(restraint.perSecondOf('loud')).toBe(Number.POSITIVE_INFINITY);
    expect(changes).toEqual([
      ['loud', true],
      ['loud', false],
    ]);
  });

  it('does not apply to a tenant that is alone, nor if no tenant sends the majority', () => {
    contention = 3;
    pass(10, { loud: 10_000 }, false);
    expect(restraint.perSecondOf('loud')).toBe(Number.POSITIVE_INFINITY);
    pass(10, { loud: 5_000, louder: 6_000, loudest: 7_000 });
    expect(restraint.perSecondOf('loudest')).toBe(Number.POSITIVE_INFINITY);
  });

  it('ends when the others have gone', () => {
    contention = 3;
    pass(10, { loud: 10_000, quiet: 10 });
    expect(restraint.perSecondOf('loud')).toBeLessThan(10_000);
    pass(1, { loud: 10_000 }, false);
    expect(restraint.perSecondOf('loud')).toBe(Number.POSITIVE_INFINITY);
  });
});
