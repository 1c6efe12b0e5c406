import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readMember, scanObject, spliceMember, UnreadableObject } from './scan-object.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (written: Uint8Array) => new TextDecoder().decode(written);

describe('the strict reading of a body', () => {
  it.each([
    ['a duplicate key', '{"model":"a","model":"b"}', 'occurs more than once'],
    ['a duplicate key in another spelling', '{"model":"a","mod\\u0065l":"b"}', 'occurs more than once'],
    ['a byte order mark', '\ufeff{}', 'byte order mark'],
    ['text after the object', '{} {}', 'must end after'],
    ['NaN', '{"a":NaN}', 'not valid JSON'],
    ['Infinity', '{"a":-Infinity}', 'not valid JSON'],
    ['a comment', '{"a":1/*x*/}', 'not valid JSON'],
    ['a comma at the end', '{"a":1,}', 'not valid JSON'],
    ['a leading zero', '{"a":01}', 'not valid JSON'],
    ['a control character in a string', '{"a":"\n"}', 'not valid JSON'],
    ['a broken escape', '{"a":"\\x41"}', 'not valid JSON'],
    ['single quotes', "{'a':1}", 'not valid JSON'],
    ['a list', '[]', 'must be a JSON object'],
    ['nothing', '', 'must be a JSON object'],
    ['a cut body', '{"a":"b', 'not valid JSON'],
    ['too deep a nesting', `{"a":${'['.repeat(600)}${']'.repeat(600)}}`, 'nested deeper'],
  ])('refuses %s', (_what, body, problem) => {
    expect(() => scanObject(bytes(body))).toThrow(problem);
    expect(() => scanObject(bytes(body))).toThrow(UnreadableObject);
  });

  it('refuses a key that occurs twice inside a member that decisions read, and leaves others alone', () => {
    const body = bytes('{"tools":[{"name":"a","name":"b"}],"messages":[{"x":1,"x":2}]}');
    expect(() => scanObject(body, new Set(['tools']))).toThrow('must not contain a key twice');
    expect(() => scanObject(body, new Set(['model']))).not.toThrow();
  });

  it('accepts exactly what a JSON parser accepts and finds the same members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const body = bytes(JSON.stringify(value, undefined, indent));
        const scanned = scanObject(body);
        expect([...scanned.members.keys()].sort()).toEqual(Object.keys(value).sort());
        const parsed = JSON.parse(text(body)) as Record<string, unknown>;
        for (const name of scanned.members.keys()) expect(readMember(body, scanned, name)).toEqual(parsed[name]);
      }),
    );
  });

  it('refuses every text that a JSON parser refuses', () => {
    const cut = fc
      .tuple(
        fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }),
        fc.nat(),
        fc.constantFrom('', ',', '}', '"', '0'),
      )
      .map(([value, at, put]) => {
        const whole = JSON.stringify(value);
        const place = at % whole.length;
        return whole.slice(0, place) + put + whole.slice(place + 1);
      });
    fc.assert(
      fc.property(cut, (body) => {
        let isJson = true;
        try {
          JSON.parse(body);
        } catch {
          isJson = false;
        }
        if (!isJson) expect(() => scanObject(bytes(body))).toThrow(UnreadableObject);
      }),
      { numRuns: 500 },
    );
  });

  it('counts encoded data apart from text', () => {
    const image = `data:image/png;base64,${'iVBORw0KGgo'.repeat(1_000)}`;
    const scanned = scanObject(bytes(JSON.stringify({ text: 'say hi', url: image })));
    expect(scanned.encodedStrings).toBe(1);
    expect(scanned.textBytes).toBeLessThan(100);
  });
});

describe('a spliced member', () => {
  it('replaces one value and keeps every other byte', () => {
    const body = '{ "seed": 12345678901234567890,\n "model" : "a" , "temperature":5e2 }';
    const scanned = scanObject(bytes(body));
    expect(text(spliceMember(bytes(body), scanned, 'model', 'b'))).toBe(body.replace('"a"', '"b"'));
  });

  it.each([
    ['{}', '{"stream_options":{"include_usage":true}}'],
    ['{"a":1}', '{"stream_options":{"include_usage":true},"a":1}'],
  ])('is added to %s', (body, expected) => {
    const scanned = scanObject(bytes(body));
    expect(text(spliceMember(bytes(body), scanned, 'stream_options', { include_usage: true }))).toBe(expected);
  });

  it('gives the object with that member, for any object', () => {
    const name = fc.string();
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), name, fc.string(), (value, member, put) => {
        fc.pre(member !== '__proto__' && !Object.keys(value).includes('__proto__'));
        const body = bytes(JSON.stringify(value));
        const spliced = spliceMember(body, scanObject(body), member, put);
        const parsed = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
        expect(JSON.parse(text(spliced))).toEqual({ ...parsed, [member]: put });
      }),
    );
  });
});
