import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { carried } from './carried.ts';
import { safeJson } from './safe-json.ts';

function nested(levels: number): unknown {
  return levels === 0 ? 'rm' : [nested(levels - 1)];
}
const circle: Record<string, unknown> = {};
circle.self = circle;

describe('what JSON keeps of a value', () => {
  it.each<[unknown]>([['text'], [null], [undefined], [1.5], [[1, { a: [] }]], [Object.create(null)]])(
    'is %j itself',
    (value) => {
      expect(carried({ value })).toBe('as_it_is');
    },
  );

  it.each<[string, unknown]>([
    ['a date', new Date(0)],
    ['a big integer', 12n],
    ['a function', () => 1],
    [
      'an object of a class',
      new (class Order {
        readonly amount = 1;
      })(),
    ],
  ])('is equivalent for %s', (_, value) => {
    expect(carried([value])).toBe('rewritten');
  });

  it.each<[string, unknown]>([
    ['a map', new Map([['q', 'rm']])],
    ['a set', new Set(['rm'])],
    ['a non-finite number', Number.POSITIVE_INFINITY],
    ['a circle', circle],
    ['31 levels', nested(31)],
    [
      'a getter that throws',
      {
        get q() {
          throw new Error('no');
        },
      },
    ],
    ['200,000 values', Array.from({ length: 200_000 }, () => 0)],
    ['content hidden by its own toJSON', { toJSON: () => new Map() }],
  ])('is only a part of %s', (_, value) => {
    expect(carried({ a: [value] })).toBe('in_part');
  });

  it('is marked as partial wherever the question replaced content', () => {
    fc.assert(
      fc.property(fc.anything({ withMap: true, withSet: true, withBigInt: true, withDate: true }), (value) => {
        const json = safeJson({ args: value });
        if (/\[(?:Circular|Too deep|Unreadable)\]/.test(json)) expect(carried(value)).toBe('in_part');
        if (carried(value) === 'as_it_is') expect(json).toBe(JSON.stringify({ args: value }));
      }),
      { numRuns: 500 },
    );
  });
});
