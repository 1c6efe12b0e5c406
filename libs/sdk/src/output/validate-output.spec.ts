import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { TestPlatform } from '../testing/index.ts';
import { OutputError, selfCorrect, validateOutput } from './validate-output.ts';

const Answer = z.object({ n: z.number(), s: z.string().optional() });
const FENCE = '```';
const fenced = (language: string, body: string) => `${FENCE}${language}\n${body}\n${FENCE}`;

describe('the JSON in an answer', () => {
  it.each([
    ['is the whole of it', '{"n": 1}'],
    ['is fenced', fenced('json', '{"n": 1}')],
    ['is fenced after words', `Sure, here it is:\n\n${fenced('json', '{"n": 1}')}\nAnything else?`],
    ['is fenced without a language', fenced('', '{"n": 1}')],
    ['is fenced in capitals', fenced('JSON', '{"n": 1}')],
    ['is fenced on one line', `Here: \n${FENCE}json {"n": 1}${FENCE}`],
    ['is in a list item', `- as follows\n  ${FENCE}json\n  {"n": 1}\n  ${FENCE}`],
    ['comes after another block', `${fenced('sh', 'ls {a,b}')}\n${fenced('json', '{"n": 1}')}`],
    ['comes after a block of the wrong shape', `${fenced('json', '{"x": 1}')}\n${fenced('json', '{"n": 1}')}`],
    ['is in the middle of a sentence', 'I think {"n": 1} is right.'],
    ['holds a fence in a string', fenced('json', `{"n": 1, "s": "${FENCE}js\\ncode${FENCE}"}`)],
    ['has windows line ends', `${FENCE}json\r\n{"n": 1}\r\n${FENCE}`],
  ])('is found when it %s', async (_, text) => {
    expect(await validateOutput(text, Answer)).toMatchObject({ ok: true, value: { n: 1 }, repaired: false });
  });

  it('may be a list', async () => {
    expect(await validateOutput(fenced('json', '[1, 2]'), z.array(z.number()))).toMatchObject({ value: [1, 2] });
  });

  it.each([
    ['single quotes', "{'n': 1}"],
    ['bare names', '{n: 1}'],
    ['a trailing comma', '{"n": 1,}'],
    ['no end', '{"n": 1'],
    ['no end, in a fence', fenced('json', '{"n": 1')],
    ['a comment', '{"n": 1 /* one */}'],
  ])('is repaired when it has %s, and marked as repaired', async (_, text) => {
    expect(await validateOutput(text, Answer)).toMatchObject({ ok: true, value: { n: 1 }, repaired: true });
    expect(await validateOutput(text, Answer, { repair: false })).toMatchObject({
      ok: false,
      error: { type: 'LOGIC', reason: 'no_json' },
    });
  });

  it('gains no element from the fence after a truncated list', async () => {
    const cut = `${FENCE}json\n[1, 2\n${FENCE}`;
    expect(await validateOutput(cut, z.array(z.number()))).toMatchObject({ ok: true, value: [1, 2], repaired: true });
  });

  it('is not made from prose', async () => {
    expect(await validateOutput('I do not know.', z.unknown())).toMatchObject({
      ok: false,
      error: { reason: 'no_json' },
    });
  });

  it('must be the whole answer in strict mode', async () => {
    expect(await validateOutput('{"n": 1}', Answer, { strict: true })).toMatchObject({ ok: true });
    for (const text of [fenced('json', '{"n": 1}'), 'x {"n": 1}', "{'n': 1}"])
      expect(await validateOutput(text, Answer, { strict: true })).toMatchObject({ ok: false });
  });

  it('never causes an exception', async () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      FENCE,
      '\n',
      'json',
      ':',
      ',',
      '1',
      'x',
      "'",
      '\ud800',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
        const result = await validateOutput(pieces.join(''), Answer);
        expect(typeof result.ok).toBe('boolean');
      }),
      { numRuns: 500 },
    );
  });

  it.each(['{', '[', '"', FENCE, `${FENCE}\n`, '{"a":', '\\'])(
    'is searched for in long hostile text of %p',
    async (piece) => {
      const result = await validateOutput(piece.repeat(20_000), Answer, { repair: false });
      expect(result.ok).toBe(false);
    },
  );
});

describe('the schema', () => {
  it('reports what is wrong and where, in words for the model', async () => {
    const result = await validateOutput('{"n": "one", "s": 2}', Answer);
    expect(result).toMatchObject({ ok: false, error: { type: 'LOGIC', reason: 'schema' } });
    const error = (result as { error: OutputError }).error;
    expect(error).toBeInstanceOf(OutputError);
    expect(error.issues.map(({ path }) => path)).toEqual(['n', 's']);
    expect(error.toPrompt()).toMatch(/- n: .*\n- s: .*\nAnswer again with the corrected JSON only/);
  });

  it('may be a JSON Schema', async () => {
    const schema = {
      type: 'object',
      required: ['n'],
      properties: { n: { type: 'number' }, list: { type: 'array', items: { type: 'string' } } },
      additionalProperties: false,
    };
    expect(await validateOutput<{ n: number }>('{"n": 1, "list": ["a"]}', schema)).toMatchObject({ ok: true });
    const result = await validateOutput('{"list": ["a", 2]}', schema);
    expect((result as { error: OutputError }).error.issues.map(({ path }) => path).sort()).toEqual(['', 'list.1']);
  });

  it('may change the value', async () => {
    const upper = z.object({ s: z.string().transform((text) => text.toUpperCase()) });
    expect(await validateOutput('{"s": "a"}', upper)).toMatchObject({ value: { s: 'A' } });
  });
});

describe('self-correction', () => {
  const scripted = (...answers: string[]) => {
    const prompts: (string | null)[] = [];
    const ask = (correction: OutputError | null) => {
      prompts.push(correction?.toPrompt() ?? null);
      return answers[prompts.length - 1] ?? 'out of answers';
    };
    return { ask, prompts };
  };

  it('tells the model what was wrong until the answer is right', async () => {
    const { ask, prompts } = scripted('no idea', '{"n": "x"}', '{"n": 1}', 'never asked');
    expect(await selfCorrect(ask, Answer)).toMatchObject({ ok: true, value: { n: 1 }, attempts: 3 });
    expect(prompts).toEqual([null, expect.stringContaining('no valid JSON'), expect.stringContaining('- n:')]);
  });

  it('gives up after the maximum number of attempts', async () => {
    const { ask, prompts } = scripted('a', 'b', 'c', 'd');
    expect(await selfCorrect(ask, Answer, { maxAttempts: 2 })).toMatchObject({ ok: false, attempts: 2 });
    expect(prompts).toHaveLength(2);
  });

  it("is recorded in the run without the model's answer", async () => {
    const server = new TestPlatform();
    const run = await (await server.client()).startRun();
    const { ask } = scripted('{"n": "private"}', "{'n': 1}");
    await selfCorrect(ask, Answer, { run });
    await run.end();
    expect(server.eventsOf('output.validated').map(({ data }) => data)).toEqual([
      { outcome: 'invalid', type: 'LOGIC', reason: 'schema', issues: ['n'] },
      { outcome: 'valid', repaired: true },
    ]);
  });
});
