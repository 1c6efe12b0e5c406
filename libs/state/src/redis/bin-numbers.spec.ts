import { binOf } from '@agentlens/guardrails/ports';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { binOfNumber, numberOfBin, valuesText } from './bin-numbers.ts';

const bins = fc.integer({ min: -200_000, max: 200_000 });
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });

describe('bin numbers in Redis', () => {
  it('round-trip', () => {
    fc.assert(fc.property(bins, (bin) => expect(binOfNumber(numberOfBin(bin))).toBe(bin)));
  });

  it('have the order of the bins', () => {
    fc.assert(
      fc.property(bins, bins, (a, b) => expect(Math.sign(numberOfBin(a) - numberOfBin(b))).toBe(Math.sign(a - b))),
    );
  });

  it('are encoded from largest to smallest value, for any values', () => {
    fc.assert(
      fc.property(fc.array(finite), (values) => {
        const counts = new Map<number, number>();
        for (const value of values) counts.set(binOf(value), (counts.get(binOf(value)) ?? 0) + 1);
        const bytes = Buffer.from(valuesText(counts));
        expect(bytes).toHaveLength(3 * values.length);
        const read = values.map((_, at) => binOfNumber(bytes.readUIntLE(3 * at, 3)));
        expect(read).toEqual(values.map(binOf).sort((a, b) => b - a));
      }),
    );
  });
});
