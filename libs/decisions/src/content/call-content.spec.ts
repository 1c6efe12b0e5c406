import type { DecisionRequest } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { transportable } from './call-content.ts';

const question = (args: unknown): DecisionRequest => ({
  ...{ tenantId: 'acme', agentId: 'bot', runId: 'run', phase: 'tool.before', tool: { name: 'search', tags: [] }, args },
  ...{ tags: {}, subjects: [], metrics: {}, deadlineMs: 1_000, receivedAt: '2026-03-01T12:00:00.000Z' },
});

const odd = fc.constantFrom('\u0000', '\ud800', 'x'.repeat(260_000), Number.POSITIVE_INFINITY, 'rm -rf /', 7);
const { args: anyArgs } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    odd,
    fc.jsonValue({ maxDepth: 2 }),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('args'),
    tie('deep'),
  ),
  deep: fc
    .tuple(fc.nat({ max: 40 }), tie('value'))
    .map(([levels, value]) => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], value)),
  args: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'k\u0000', 'k\uFFFD'), tie('value'), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
}));

const repaired = (text: string) => text.toWellFormed().replaceAll('\u0000', '\uFFFD');

/** Every scalar with its path, as the evaluator would see it. */
function leaves(value: unknown, path = ''): Set<string> {
  const found = new Set<string>();
  const walk = (one: unknown, at: string) => {
    if (typeof one !== 'object' || one === null) found.add(`${at}=${repaired(JSON.stringify(one) ?? '')}`);
    else for (const [key, inner] of Object.entries(one)) walk(inner, `${at}/${repaired(key)}`);
  };
  walk(JSON.parse(JSON.stringify(value, (_, one: unknown) => (typeof one === 'string' ? repaired(one) : one))), path);
  return found;
}

describe('a question sent to the evaluator', () => {
  it('contains every value of its arguments or reports that it does not, and adds none', () => {
    fc.assert(
      fc.property(anyArgs, fc.boolean(), (args, measured) => {
        const sent = transportable(question(args), measured ? 500_000 : 1_000);
        if (sent === null) throw new Error('the question was not handed over');
        const [before, after] = [leaves(args), leaves(sent.args)];
        const isLost = [...before].some((leaf) => !after.has(leaf)) || JSON.stringify(args) === undefined;
        if (isLost) expect(sent.unread?.args).toBeDefined();
        for (const leaf of after) if (!leaf.endsWith('=null')) expect(before.has(leaf)).toBe(true);
        expect(Buffer.byteLength(JSON.stringify(sent))).toBeLessThan(measured ? 900_000 : Number.POSITIVE_INFINITY);
      }),
      { numRuns: 300 },
    );
  });

  it('reports every number that JSON cannot represent', () => {
    expect(transportable(question({ n: Number.POSITIVE_INFINITY }), 100)?.unread?.args?.reason).toBe('unreadable');
  });

  it.each([
    ['NUL and U+FFFD', { a: '\u0000' }, { a: '\uFFFD' }],
    ['a lone surrogate and U+FFFD', { a: '\ud800' }, { a: '\uFFFD' }],
    ['two lone surrogates', { a: '\ud800' }, { a: '\ud801' }],
    ['names', { '\u0000': 1 }, { '\uFFFD': 1 }],
  ])('distinguishes arguments that are repaired to the same text: %s', (_what, one, other) => {
    const [mine, others] = [one, other].map((args) => transportable(question(args), 100));
    expect(mine?.args).toEqual(others?.args);
    expect(mine?.exactArgs).not.toBe(others?.exactArgs);
  });

  it('contains arguments as written if parsing them loses digits, or reports that it does not', () => {
    const written = '{"n":9007199254740993}';
    const carried = transportable(question(JSON.parse(written)), 100, [], written);
    expect(carried).toMatchObject({ writtenArgs: written, exactArgs: expect.any(String) });
    const long = `{"n":9007199254740993,"text":"${'x'.repeat(890_000)}"}`;
    const cut = transportable(question(JSON.parse(long)), long.length, [], long);
    expect(cut).toMatchObject({ writtenArgs: null, exactArgs: expect.any(String) });
  });

  it('adds nothing to arguments that are parsed exactly', () => {
    expect(transportable(question({ a: '\uFFFD', n: 7 }), 100)).not.toHaveProperty('exactArgs');
  });
});
