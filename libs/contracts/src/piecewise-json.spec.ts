import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrokenJson, hasAtMostUnits, type JsonBudget, parseInSteps, TooMuchJson } from './piecewise-json.ts';

function parse(text: string, budget: JsonBudget = { maxUnits: 1_000_000 }) {
  const steps = parseInSteps(text, budget);
  for (let count = 1; ; count++) {
    const step = steps.next();
    if (step.done === true) return { ...step.value, steps: count };
  }
}

/** Values large enough to be parsed in pieces, at any depth. */
const small = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' });
const large = fc
  .tuple(fc.array(small, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1_000, max: 6_000 }), fc.boolean())
  .map(([items, count, asObject]) => {
    const list = Array.from({ length: count }, (_, index) => items[index % items.length]);
    return asObject ? Object.fromEntries(list.map((item, index) => [`k${index}`, item])) : list;
  });
const nested = fc
  .tuple(large, large, small)
  .map(([one, other, leaf]) => ({ leaf, one: [leaf, one, leaf], 'a "quoted" [name': { other }, last: leaf }));

describe('parseInSteps', () => {
  it('returns the same as JSON.parse, with and without white space', () => {
    fc.assert(
      fc.property(fc.oneof(small, large, nested), fc.constantFrom(undefined, 1), (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        expect(parse(text).value).toEqual(JSON.parse(text));
      }),
      { numRuns: 40 },
    );
  });

  it('rejects exactly the texts that JSON.parse rejects', () => {
    const mistakes = [',', ',,', ']', '}', '{', '[', '"', ':', '1', 'x', '\\', ' '];
    fc.assert(
      fc.property(
        nested,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.constantFrom(...mistakes),
        (value, where, mistake) => {
          const text = JSON.stringify(value);
          const at = Math.floor(where * text.length);
          for (const broken of [text.slice(0, at), text.slice(0, at) + mistake + text.slice(at)]) {
            expect(outcome(() => parse(broken).value)).toEqual(outcome(() => JSON.parse(broken)));
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('takes a step for every few thousand keys', () => {
    const text = JSON.stringify(
      Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, index])),
    );
    expect(parse(text).steps).toBeGreaterThanOrEqual(40);
  });

  it('rejects too large a text before parsing it', () => {
    const text = `[${Array(30_000).fill('{"a":1}').join()}]`;
    expect(() => parse(text, { maxUnits: 50_000 })).toThrow(TooMuchJson);
    expect(parse(text, { maxUnits: 100_000 }).units).toBe(90_000);
  });

  it('leaves out a named member that alone is too large, and nothing else', () => {
    const list = Array(30_000).fill(1);
    const budget = { maxUnits: 20_000, mayLeaveOut: ['args', 'result'] };
    const { value, leftOut } = parse(JSON.stringify({ phase: 'x', args: list, tool: { name: 't' } }), budget);
    expect(value).toEqual({ phase: 'x', args: null, tool: { name: 't' } });
    expect(leftOut).toEqual(['args']);
    expect(() => parse(JSON.stringify({ tags: { args: list } }), budget)).toThrow(TooMuchJson);
    expect(() => parse(JSON.stringify({ tags: list, args: list }), budget)).toThrow(TooMuchJson);
  });

  it('reports the position of an error in a large text', () => {
    const text = `[${Array(10_000).fill('1').join()},x]`;
    expect(outcomeOf(() => parse(text))).toMatchObject({ position: text.length - 2 });
  });

  it('keeps a key named __proto__ as a member', () => {
    const text = `{"__proto__":${JSON.stringify(Array(10_000).fill(1))},"a":1}`;
    expect(Object.keys(parse(text).value as object)).toEqual(['__proto__', 'a']);
  });
});

describe('hasAtMostUnits', () => {
  it('counts keys, values and brackets outside of strings', () => {
    expect(hasAtMostUnits('{"a":["[[[[,,,,::::"]}', 3)).toBe(true);
    expect(hasAtMostUnits('{"a":["[[[[,,,,::::"]}', 2)).toBe(false);
  });
});

function outcome(read: () => unknown): unknown {
  try {
    return { value: read() };
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return 'broken';
  }
}

function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(BrokenJson);
    return error;
  }
}
