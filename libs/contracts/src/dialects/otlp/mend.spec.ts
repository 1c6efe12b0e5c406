import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mended } from './mend.ts';

describe('contents', () => {
  it('that can be stored stay as they are, without a note', () => {
    const value = { a: 'text', b: [1, true, null, { c: 'd' }] };
    expect(mended(value)).toEqual({ value, notes: [] });
  });

  it('are cut where a text is too long, and say how much', () => {
    const { value, notes } = mended({ a: 'x'.repeat(300_000) });
    expect(String(value.a)).toHaveLength(262_144);
    expect(value.a).toMatch(/…\[cut 37856 characters\]$/);
    expect(notes).toEqual(['cut: a text had 300000 characters']);
  });

  it('have U+FFFD for characters that no database keeps', () => {
    expect(mended({ a: 'x\0y', b: '\ud800' }).value).toEqual({ a: 'x\ufffdy', b: '\ufffd' });
    expect(mended({ a: Number.POSITIVE_INFINITY }).value).toEqual({ a: 'Infinity' });
  });

  it('are flattened where they are too deep', () => {
    let value: object = { end: true };
    for (let depth = 0; depth < 60; depth++) value = { in: value };
    const { notes } = mended({ value });
    expect(notes).toEqual([expect.stringMatching(/^flattened/)]);
  });

  it('keep the first keys of too many, and their count', () => {
    const { value } = mended(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`k${n}`, n])));
    expect(Object.keys(value)).toHaveLength(256);
    expect(value['…']).toBe('45 more keys');
  });

  it('fit one event, however many texts there are and however they are escaped', () => {
    const texts = Array.from({ length: 200 }, () => '\u0001'.repeat(20_000));
    const { value, notes } = mended({ texts });
    expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThanOrEqual(900_000);
    expect(notes.length).toBeGreaterThan(0);
  });

  it('are safe whatever they are', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.anything({ maxDepth: 4 })), (value) => {
        const { value: safe } = mended(JSON.parse(JSON.stringify(value)) as Record<string, unknown>);
        const text = JSON.stringify(safe);
        expect(text).not.toContain('\\u0000');
        expect(text.isWellFormed()).toBe(true);
        expect(Object.keys(safe)).not.toContain('__proto__');
      }),
    );
  });
});
