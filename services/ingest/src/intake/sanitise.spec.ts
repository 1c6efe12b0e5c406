import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sanitise } from './sanitise.ts';

describe('sanitising', () => {
  it('leaves any safe JSON as it is', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\u0000'));
    const value = fc.jsonValue({ maxDepth: 8, stringUnit: 'grapheme' });
    fc.assert(
      fc.property(value, text, (json, extra) => {
        const event = JSON.parse(JSON.stringify({ json, extra }));
        const before = JSON.stringify(event);
        fc.pre(!before.includes('\\u0000') && !before.includes('__proto__'));
        expect(sanitise(event)).toEqual({ repaired: [] });
        expect(JSON.stringify(event)).toBe(before);
      }),
    );
  });

  it('repairs every text, for any code units', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (key, value) => {
        fc.pre(key !== '__proto__');
        const event = { list: [value], [`k${key}`]: value };
        expect(sanitise(event).problem).toBeUndefined();
        for (const name of Object.keys(event))
          expect([name.isWellFormed(), name.includes('\u0000')]).toEqual([true, false]);
        expect(event.list[0]).toBe(value.toWellFormed().replaceAll('\u0000', '\ufffd'));
      }),
    );
  });

  it('does not let a repaired key hide another one', () => {
    const event = JSON.parse('{"\\ufffd":"kept","\\ud800":"gives way"}');
    expect(sanitise(event).problem).toBeUndefined();
    expect(event).toEqual({ '\ufffd': 'kept' });
  });

  it('accepts 32 levels and rejects the 33rd with its path', () => {
    expect(sanitise(nestedObjects(32)).problem).toBeUndefined();
    expect(sanitise(nestedObjects(33)).problem).toEqual({
      path: Array(32).fill('a').join('.'),
      message: 'is nested more than 32 levels deep; flatten it',
    });
  });

  it('survives a million levels', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 1_000_000; level++) deep = [deep];
    expect(sanitise({ deep }).problem?.message).toMatch(/32 levels/);
  });

  it('accepts 256 keys and rejects 257, naming the object', () => {
    expect(sanitise({ a: keyed(256) }).problem).toBeUndefined();
    expect(sanitise({ a: [keyed(257)] }).problem).toMatchObject({ path: 'a.0' });
    expect(sanitise(keyed(257)).problem).toMatchObject({ path: '' });
  });

  it.each([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN])('refuses %p', (n) => {
    expect(sanitise({ a: { b: [0, n] } }).problem).toMatchObject({ path: 'a.b.1' });
  });

  it.each([7, 'text', null, true])('accepts %p, which is not an object', (value) => {
    expect(sanitise(value).problem).toBeUndefined();
  });
});

function nestedObjects(levels: number): unknown {
  let value: unknown = {};
  for (let level = 1; level < levels; level++) value = { a: value };
  return value;
}

function keyed(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
}
