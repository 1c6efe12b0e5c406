import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compareExactly, type ExactNumber, exactNumber } from './exact-number.ts';

const compared = (a: unknown, b: unknown) => {
  const [left, right] = [exactNumber(a), exactNumber(b)];
  if (left === undefined || right === undefined) return undefined;
  return Math.sign(compareExactly(left, right));
};

describe('exactNumber', () => {
  it.each(['5000', '5e3', '+5000', '5000.0', ' 5000 ', '5.000E+3', '0005000', '50000e-1', 5000, 5000n])(
    'reads %p as 5000',
    (value) => expect(compared(value, 5000)).toBe(0),
  );

  it.each([
    '',
    ' ',
    '.',
    'e3',
    '5,000',
    '1_000',
    '$5',
    '0x10',
    'NaN',
    'Infinity',
    '5 000',
    '٥',
    'five',
    '1e999999',
    '9'.repeat(401),
    true,
    null,
    [5],
    {},
    Number.NaN,
  ])('rejects %p', (value) => expect(exactNumber(value)).toBeUndefined());

  it('orders numbers by value', () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(finite, finite, (a, b) =>
        expect(compared(String(a), b)).toBe(Math.sign(Number(a > b) - Number(a < b))),
      ),
    );
  });

  it('orders big integers by value', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt(), (a, b) => {
        const expected = Number(a > b) - Number(a < b);
        expect([compared(String(a), b), compared(a, String(b))]).toEqual([expected, expected]);
      }),
    );
  });

  it('loses nothing', () => {
    expect(compared('9007199254740993', 9007199254740992)).toBe(1);
    expect(compared('1000.000000000000000000001', 1000)).toBe(1);
    expect(compared('0.1', 0.1)).toBe(0);
    expect(exactNumber('-12.50')).toEqual({ isNegative: true, digits: '125', exponent: -1 } satisfies ExactNumber);
  });
});
