import { describe, expect, it } from '@jest/globals';
import { exactly, toNumber } from '../exact-sum.ts';
import { addedUp } from './added-up.ts';

const contribution = (epoch: number, atMs: number, value: number, bin = '') => ({
  event: 0,
  epoch,
  atMs,
  value,
  amount: exactly(value),
  bin,
});

describe('adding up contributions', () => {
  it('adds exactly, by bucket', () => {
    const sums = addedUp([contribution(7, 70, 0.1), contribution(8, 80, 5), contribution(7, 71, 0.2)]);
    expect(sums.map(({ epoch, count, sum }) => [epoch, count, toNumber(sum)])).toEqual([
      [7, 2, 0.3],
      [8, 1, 5],
    ]);
  });

  it('keeps the least, the greatest and the newest value', () => {
    const [sum] = addedUp([contribution(0, 2, -1), contribution(0, 3, 4), contribution(0, 1, 9)]);
    expect(sum).toMatchObject({ min: -1, max: 9, last: { atMs: 3, value: 4 } });
  });

  it('takes the greatest of equally new values, in whatever order they come', () => {
    const both = [contribution(0, 3, 4), contribution(0, 3, 6)];
    for (const order of [both, both.toReversed()]) expect(addedUp(order)[0]?.last).toEqual({ atMs: 3, value: 6 });
  });

  it('counts bins', () => {
    const [sum] = addedUp([contribution(0, 1, 1, '0'), contribution(0, 2, 1, '0'), contribution(0, 3, 9, '+5')]);
    expect(Object.fromEntries(sum?.bins ?? [])).toEqual({ '0': 2, '+5': 1 });
  });

  it('has no sum of nothing', () => expect(addedUp([])).toEqual([]));
});
