import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { countSeats, type Sitter } from './seats.ts';

/** Tries every way to give each sitter a seat, or none. */
function tryAll([first, ...others]: readonly Sitter[], taken: readonly string[] = []): number {
  if (first === undefined) return 0;
  const free = first.seats.filter((seat) => !taken.includes(seat));
  return Math.max(tryAll(others, taken), ...free.map((seat) => 1 + tryAll(others, [...taken, seat])));
}

const Seats = fc.subarray(['ann', 'ben', 'cem', 'dia']);

describe('seats', () => {
  it('count a person and the deputy of that person once', () => {
    const ann = { id: 'ann', seats: ['ann'] };
    const deputy = (...seats: string[]) => ({ id: 'eve', seats });
    expect(countSeats([ann, deputy('ann')])).toBe(1);
    expect(countSeats([deputy('ann'), ann])).toBe(1);
    expect(countSeats([deputy('ann', 'ben'), ann])).toBe(2);
  });

  it('count as many as can sit at once', () => {
    fc.assert(
      fc.property(fc.array(Seats, { maxLength: 5 }), (seats) => {
        const sitters = seats.map((own, n) => ({ id: String(n), seats: own }));
        expect(countSeats(sitters)).toBe(tryAll(sitters));
      }),
    );
  });
});
