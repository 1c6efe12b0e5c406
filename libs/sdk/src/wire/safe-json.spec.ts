import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clip, safeJson, utf8Bytes } from './safe-json.ts';

describe('safeJson', () => {
  it('is JSON.stringify for what JSON can carry', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(safeJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('survives cycles, and repeats what is merely shared', () => {
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

  it('survives what throws, what is too big a number, and what is nothing', () => {
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
      big: '12',
      broken: '[Unreadable]',
      odd: '[Unreadable]',
      when: '1970-01-01T00:00:00.000Z',
    });
    expect(safeJson(undefined)).toBe('null');
    expect(safeJson(() => 1)).toBe('null');
  });

  it('bounds the depth', () => {
    let deep: unknown = 'x';
    for (let n = 0; n < 100_000; n++) deep = [deep];
    expect(safeJson(deep)).toContain('[Too deep]');
  });

  it('keeps a member called __proto__ a member', () => {
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

  it('never end in half a character', () => {
    expect(clip('a😀b', 2)).toBe('a');
    expect(clip('a😀b', 3)).toBe('a😀');
    expect(clip('ab', 5)).toBe('ab');
  });
});
