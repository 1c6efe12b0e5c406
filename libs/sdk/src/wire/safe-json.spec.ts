import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clip, safeJson, utf8Bytes } from './safe-json.ts';

describe('safeJson', () => {
  it('equals JSON.stringify for plain JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(safeJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('survives cycles, and repeats shared values', () => {
    const shared = { a: 1 };
    const circular: Record<string, unknown> = { shared, again: shared };
    circular.self = circular;
    circular.list = [circular];
    expect(JSON.parse(safeJson(circular))).toEqual({
      shared: { a: 1 },
      again: { a: 1 },
      self: '[Circular]',
      list: ['[Circular]'],
    });
  });

  it('survives throwing getters, numbers out of range, and undefined', () => {
    const hostile = {
      big: 12n,
      get broken() {
        throw new Error('no');
      },
      odd: {
        toJSON() {
          throw new Error('no');
        },
      },
      when: new Date(0),
      nothing: undefined,
      work: () => 1,
    };
    expect(JSON.parse(safeJson(hostile))).toEqual({
      big: 12,
      broken: '[Unreadable]',
      odd: '[Unreadable]',
      when: '1970-01-01T00:00:00.000Z',
    });
    expect(safeJson(undefined)).toBe('null');
    expect(safeJson(() => 1)).toBe('null');
  });

  it.each<[string, unknown, unknown]>([
    ['a big integer', 5000n, 5000],
    ['a big integer beyond the safe range', 9007199254740993n, '9007199254740993'],
    ['a big integer behind toJSON', { toJSON: () => 5000n }, 5000],
    ['decimal text behind toJSON', { toJSON: () => '5000.00' }, '5000.00'],
    ['a number in an object', new Number(5000), 5000],
    ['a big integer in an object', Object(5000n), 5000],
    ['a text in an object', new String('5000'), '5000'],
  ])('writes %s as a number or as exact text', (_, amount, written) => {
    expect(JSON.parse(safeJson({ amount }))).toEqual({ amount: written });
    // Also beside values that JSON.stringify fails on.
    expect(JSON.parse(safeJson({ amount, big: 1n }))).toEqual({ amount: written, big: 1 });
  });

  it('bounds the depth', () => {
    let deep: unknown = 'x';
    for (let n = 0; n < 100_000; n++) deep = [deep];
    expect(safeJson(deep)).toContain('[Too deep]');
  });

  it('keeps a member called __proto__ as a member', () => {
    const hostile = JSON.parse('{"__proto__": {"admin": true}, "n": 1}');
    hostile.self = hostile;
    expect(safeJson(hostile)).toContain('"__proto__":{"admin":true}');
  });
});

describe('lengths', () => {
  it('are those of UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(utf8Bytes(text)).toBe(new TextEncoder().encode(text).length);
      }),
    );
  });

  it('never ends in half a character', () => {
    expect(clip('a😀b', 2)).toBe('a');
    expect(clip('a😀b', 3)).toBe('a😀');
    expect(clip('ab', 5)).toBe('ab');
  });
});
