import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type CallsOfRun, rateWithoutAnyOne, sumOf } from './stop-spread.ts';

const runs = (agentId: string, count: number, stopped: number): CallsOfRun[] =>
  Array.from({ length: count }, (_, n) => ({ agentId, runId: `${agentId}-${n}`, calls: 10, stopped }));

describe('the stop rate without any one party', () => {
  it('is 0 for one agent or one run', () => {
    expect(rateWithoutAnyOne([])).toBe(0);
    expect(rateWithoutAnyOne(runs('a', 8, 10))).toBe(0);
    expect(rateWithoutAnyOne([{ agentId: 'a', runId: 'r', calls: 90, stopped: 80 }, ...runs('b', 5, 0)])).toBe(0);
  });

  it('is that of the others', () => {
    expect(rateWithoutAnyOne([...runs('a', 5, 1), ...runs('b', 5, 1), ...runs('c', 5, 1)])).toBeCloseTo(0.1);
    expect(rateWithoutAnyOne([...runs('a', 5, 10), ...runs('b', 5, 1), ...runs('c', 5, 1)])).toBeCloseTo(0.1);
  });

  it('cannot be raised by an agent above what the others reach without it', () => {
    const party = fc.record({
      agentId: fc.constantFrom('a', 'b', 'c'),
      runId: fc.uuid(),
      calls: fc.integer({ min: 1, max: 100 }),
    });
    const traffic = fc.array(
      fc.tuple(party, fc.nat(100)).map(([one, share]) => ({ ...one, stopped: Math.floor((one.calls * share) / 100) })),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(traffic, traffic, (others, own) => {
        const mine = own.map((one) => ({ ...one, agentId: 'attacker' }));
        const { calls, stopped } = sumOf(others);
        const rate = calls === 0 ? 0 : stopped / calls;
        expect(rateWithoutAnyOne([...others, ...mine])).toBeLessThanOrEqual(rate);
      }),
    );
  });
});
