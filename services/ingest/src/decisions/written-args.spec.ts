import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inexactlyReadArgs } from './written-args.ts';

const body = (args: string) => `{"phase":"tool.before", "args": ${args} ,"metrics":{"bytes_in":12}}`;

describe('arguments as written', () => {
  it.each([
    '{"id":9007199254740993}',
    '{"id":-9007199254740993}',
    '[1e400]',
    '[-1E400]',
    '[1e-400]',
    '{"a":{"b":[0.1000000000000000001]}}',
    '1234567890123456789',
  ])('are kept if parsing changes them: %s', (args) => expect(inexactlyReadArgs(body(args))?.trim()).toBe(args));

  it.each([
    '{"id":9007199254740992}',
    '{"id":"9007199254740993"}',
    '{"9007199254740993":1}',
    '{"a\\"9007199254740993":1,"b":"\\\\"}',
    '[1.0e2,1e2,100.000000000000000000,0.30000000000000004]',
    '[0.0000000000000000,-0.0,0e9]',
    'null',
  ])('are not kept if they are parsed exactly: %s', (args) => expect(inexactlyReadArgs(body(args))).toBeUndefined());

  it('are those of the question, not a member with another name or inside of another', () => {
    const long = '9007199254740993';
    expect(inexactlyReadArgs(`{"result":${long},"tags":{"args":${long}},"args":1}`)).toBeUndefined();
    expect(inexactlyReadArgs(`{"result":"args","n":${long},"args":[1]}`)).toBeUndefined();
    expect(inexactlyReadArgs(`{"\\u0061rgs":[${long}]}`)).toBe(`[${long}]`);
    expect(inexactlyReadArgs(`{"args":${long},"args":1}`)).toBeUndefined();
    expect(inexactlyReadArgs(`[{"args":${long}}]`)).toBeUndefined();
  });

  it('are never kept if a program serialised its own numbers', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (args) => {
        expect(inexactlyReadArgs(JSON.stringify({ args }))).toBeUndefined();
      }),
    );
  });

  it('distinguish any two numbers that parse to the same value', () => {
    const large = fc.bigInt({ min: 2n ** 60n, max: 2n ** 63n });
    fc.assert(
      fc.property(large, fc.integer({ min: 1, max: 100 }), fc.constantFrom('', 'e5', 'e400'), (one, more, exponent) => {
        const pair = [one, one + BigInt(more)].map((number) => `${number}${exponent}`);
        fc.pre(new Set(pair.map(Number)).size === 1);
        const kept = pair.map((text) => inexactlyReadArgs(body(text))?.trim() ?? String(Number(text)));
        expect(new Set(kept).size).toBe(2);
      }),
    );
  });
});
