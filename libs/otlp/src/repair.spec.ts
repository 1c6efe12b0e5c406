import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { repaired } from './repair.ts';

describe('contents', () => {
  it('that can be stored are unchanged and without a note', () => {
    const value = { a: 'text', b: [1, true, null, { c: 'd' }] };
    expect(repaired(value)).toEqual({ value, notes: [] });
  });

  it('are truncated if a text is too long, with a note', () => {
    const { value, notes } = repaired({ a: 'x'.repeat(300_000) });
    expect(String(value.a)).toHaveLength(262_144);
    expect(value.a).toMatch(/…\[cut 37856 characters\]$/);
    expect(notes).toEqual(['cut: a text had 300000 characters']);
  });

  it('have U+FFFD in place of characters that no database stores', () => {
    expect(repaired({ a: 'x\0y', b: '\ud800' }).value).toEqual({ a: 'x\ufffdy', b: '\ufffd' });
    expect(repaired({ a: Number.POSITIVE_INFINITY }).value).toEqual({ a: 'Infinity' });
  });

  it('are flattened if they are nested too deeply', () => {
    let value: object = { end: true };
    for (let depth = 0; depth < 60; depth++) value = { in: value };
    const { notes } = repaired({ value });
    expect(notes).toEqual([expect.stringMatching(/^flattened/)]);
  });

  it('keep the first keys of too many, and the number of the rest', () => {
    const { value } = repaired(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`k${n}`, n])));
    expect(Object.keys(value)).toHaveLength(256);
    expect(value['…']).toBe('45 more keys');
  });

  it('fit into one event, regardless of the number and escaping of texts', () => {
    const texts = Array.from({ length: 200 }, () => '\u0001'.repeat(20_000));
    const { value, notes } = repaired({ texts });
    expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThanOrEqual(900_000);
    expect(notes.length).toBeGreaterThan(0);
  });

  it('can be stored, regardless of their contents', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.anything({ maxDepth: 4 })), (value) => {
        const { value: safe } = repaired(JSON.parse(JSON.stringify(value)) as Record<string, unknown>);
        const text = JSON.stringify(safe);
        expect(text).not.toContain('\\u0000');
        expect(text.isWellFormed()).toBe(true);
        expect(Object.keys(safe)).not.toContain('__proto__');
      }),
    );
  });
});
