import { describe, expect, it } from '@jest/globals';
import { toNumber } from '../exact-numbers.ts';
import { AddedUp } from './plan.ts';

type Value = readonly [epoch: number, atMs: number, value: number, bin?: number];

function addedUp(values: readonly Value[]) {
  const all = new AddedUp();
  for (const [epoch, atMs, value, bin = null] of values) all.add(epoch, atMs, value, bin);
  return all.sums;
}

describe('sums of values', () => {
  it('are exact and per bucket', () => {
    const sums = addedUp([
      [7, 70, 0.1],
      [8, 80, 5],
      [7, 71, 0.2],
    ]);
    expect(sums.map((sum) => [sum.epoch, sum.count, toNumber(sum)])).toEqual([
      [7, 2, 0.3],
      [8, 1, 5],
    ]);
  });

  it('are exact for large and negative values', () => {
    const [sum] = addedUp([999_999.5, 0.5, -0.25, 2_000_000, -3_000_001].map((value) => [0, 1, value]));
    expect(sum).toMatchObject({ count: 5, low: expect.any(Number) });
    expect(sum === undefined ? null : toNumber(sum)).toBe(-1.25);
    expect(sum?.low).toBeGreaterThanOrEqual(0);
  });

  it('keep the minimum, maximum and latest value', () => {
    const [sum] = addedUp([
      [0, 2, -1],
      [0, 3, 4],
      [0, 1, 9],
    ]);
    expect(sum).toMatchObject({ min: -1, max: 9, lastAtMs: 3, last: 4 });
  });

  it('keep the largest of equally late values, in any order', () => {
    const both: Value[] = [
      [0, 3, 4],
      [0, 3, 6],
    ];
    for (const order of [both, both.toReversed()]) expect(addedUp(order)[0]).toMatchObject({ lastAtMs: 3, last: 6 });
  });

  it('counts bins', () => {
    const [sum] = addedUp([
      [0, 1, 1, 0],
      [0, 2, 1, 0],
      [0, 3, 9, 5],
    ]);
    expect([...(sum?.bins ?? [])]).toEqual([
      [0, 2],
      [5, 1],
    ]);
  });

  it('are empty without values', () => expect(addedUp([])).toEqual([]));
});
