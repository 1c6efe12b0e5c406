import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ExactSum, exactly, minus, plus, toNumber, ZERO } from './exact-numbers.ts';

function sumOf(values: readonly number[]): ExactSum {
  return values.reduce((sum, value) => plus(sum, exactly(value)), ZERO);
}

/** A whole number of nano-units, as the decimal number that a client would send. */
const nanos = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });

describe('exact sum', () => {
  it('adds tenths without rounding errors', () => {
    expect(toNumber(sumOf([0.1, 0.2]))).toBe(0.3);
    expect(toNumber(sumOf(Array.from({ length: 1000 }, () => 0.001)))).toBe(1);
  });

  it('equals a recount in whole billionths', () => {
    fc.assert(
      fc.property(fc.array(nanos, { maxLength: 100 }), (list) => {
        const sum = sumOf(list.map((nano) => Number(nano) / 1e9));
        expect(BigInt(sum.high) * 10n ** 15n + BigInt(sum.low)).toBe(list.reduce((total, nano) => total + nano, 0n));
      }),
    );
  });

  it('returns to its previous value when a value is subtracted again', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 50 }),
        (value, others) => {
          expect(minus(sumOf([value, ...others]), exactly(value))).toEqual(sumOf(others));
        },
      ),
    );
  });

  it('is the same in every order', () => {
    const numbers = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 50 });
    fc.assert(fc.property(numbers, (values) => expect(sumOf(values)).toEqual(sumOf([...values].reverse()))));
  });

  it('reads back a single value unchanged to nine decimals', () => {
    for (const value of [0, 1, -1, 0.000000001, 123456.789012345, -2.5, 1e12, 9e15, 1e18]) {
      expect(toNumber(exactly(value))).toBeCloseTo(value, 9);
    }
  });
});
