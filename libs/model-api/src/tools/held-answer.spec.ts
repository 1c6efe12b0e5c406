import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FrameScanner, type ProviderFrame } from '../frame-scanner.ts';
import type { ModelApi } from '../model-dialect.ts';
import { type AnswerScript, writeStreamedAnswer, writeWholeAnswer } from '../scripted-answer.ts';
import { HeldAnswer } from './held-answer.ts';
import type { AnsweredCall, ToolVerdict } from './tool-call.ts';
import { readWholeAnswer } from './whole-answer.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const APIS = ['messages', 'chat', 'responses', 'generate'] as const;
type ToolApi = (typeof APIS)[number];
/** What a client reads as the end of an answer that has no tool call, and of one that has. */
const ENDS: Readonly<Record<ToolApi, readonly [text: string, tool: string]>> = {
  messages: ['"stop_reason":"end_turn"', '"stop_reason":"tool_use"'],
  chat: ['"finish_reason":"stop"', '"finish_reason":"tool_calls"'],
  responses: ['"type":"response.completed"', '"type":"response.completed"'],
  generate: ['"finishReason":"STOP"', '"finishReason":"STOP"'],
};

type Fate = 'free' | 'allow' | 'deny' | 'change';

/** An answer with one tool call for each fate. Names and arguments say which call it is. */
function scriptOf(fates: readonly Fate[]): AnswerScript {
  return {
    ...{ id: 'answer-1', model: 'model-a', inputTokens: 100, outputTokens: 20 },
    pieces: ['Grüße ', '🙂 ', 'und "Anführung"\n'],
    tools: fates.map((fate, at) => ({ id: `call-${at}`, name: `${fate}_${at}`, args: { secret: `${fate}-${at}-ü` } })),
  };
}

const fateOf = ({ name }: AnsweredCall) => name.split('_')[0] as Fate;

function judge(call: AnsweredCall): ToolVerdict {
  const fate = fateOf(call);
  if (fate === 'deny') return { kind: 'block', text: `Tool ${call.name.length} was blocked` };
  return fate === 'change' ? { kind: 'change', args: { changed: call.key } } : { kind: 'allow' };
}

const verdictsOf = (calls: readonly AnsweredCall[]) => new Map(calls.map((call) => [call.key, judge(call)]));

/** Passes the stream on as the gateway does. */
function passOn(api: ModelApi, chunks: readonly Uint8Array[]) {
  const scanner = new FrameScanner();
  const answer = new HeldAnswer(api, (name) => !name.startsWith('free'));
  const passed: Uint8Array[] = [];
  const take = (frame: ProviderFrame) => {
    const free = answer.push(frame);
    if (free !== undefined) passed.push(free.raw);
    if (answer.isHolding && answer.isComplete) passed.push(...answer.release(verdictsOf(answer.calls)));
  };
  for (const chunk of chunks) for (const frame of scanner.push(chunk)) take(frame);
  passed.push(scanner.rest());
  return { text: Buffer.concat(passed).toString(), answer };
}

function cutInto(whole: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.subarray(at * size, (at + 1) * size));
}

/** What a client makes of the stream. */
function readStream(api: ModelApi, text: string): readonly AnsweredCall[] {
  const reader = new HeldAnswer(api, () => false);
  for (const frame of new FrameScanner().push(bytes(text))) reader.push(frame);
  return reader.calls;
}

const summary = (calls: readonly AnsweredCall[]) => calls.map(({ id, name, args }) => ({ id, name, args }));

/** The calls that a client must see. */
const expected = ({ tools = [] }: AnswerScript, keyOf: (at: number) => string) =>
  tools.flatMap(({ id, name, args }, at) => {
    if (name.startsWith('deny')) return [];
    return [{ id, name, args: name.startsWith('change') ? { changed: keyOf(at) } : args }];
  });
const KEYS: Readonly<Record<ToolApi, (at: number) => string>> = {
  messages: (at) => String(at + 1),
  chat: (at) => `0/${at}`,
  responses: (at) => String(at + 1),
  generate: (at) => String(at),
};

describe.each(APIS)('tool calls in a stream of %s', (api) => {
  const FATES: readonly Fate[] = ['free', 'deny', 'allow', 'deny', 'change', 'deny'];
  const script = scriptOf(FATES);
  const whole = bytes(writeStreamedAnswer(api, script, true).join(''));

  it('never reach the client if they are blocked, cut at every size', () => {
    let blocked = 0;
    for (let size = 1; size <= whole.length; size++) {
      const { text, answer } = passOn(api, cutInto(whole, size));
      expect(text).not.toMatch(/deny_|deny-/);
      blocked += answer.calls.filter((call) => fateOf(call) === 'deny').length;
    }
    expect(blocked).toBeGreaterThan(3_000);
  });

  it('are those that were allowed and changed, for any calls and cuts', () => {
    const fates = fc.array(fc.constantFrom<Fate>('free', 'allow', 'deny', 'change'), { maxLength: 6 });
    fc.assert(
      fc.property(fates, fc.integer({ min: 1, max: 300 }), (chosen, size) => {
        const its = scriptOf(chosen);
        const sent = bytes(writeStreamedAnswer(api, its, true).join(''));
        const { text } = passOn(api, cutInto(sent, size));
        expect(summary(readStream(api, text))).toEqual(expected(its, KEYS[api]));
        if (chosen.every((fate) => fate === 'free' || fate === 'allow'))
          expect(text).toBe(Buffer.from(sent).toString());
        const isLeft = chosen.some((fate) => fate !== 'deny');
        expect(text).toContain(ENDS[api][isLeft ? 1 : 0]);
      }),
      { numRuns: 200 },
    );
  });

  it('do not change the bytes before the first that is held', () => {
    const { text } = passOn(api, [whole]);
    const sent = Buffer.from(whole).toString();
    const begin = sent.indexOf('deny_');
    const frame = sent.lastIndexOf('data: ', begin);
    const before = sent.slice(
      0,
      sent.lastIndexOf('event: ', frame) > frame - 60 ? sent.lastIndexOf('event: ', frame) : frame,
    );
    expect(before.length).toBeGreaterThan(200);
    expect(text.startsWith(before)).toBe(true);
  });

  it('leave a text in the place of a blocked call', () => {
    const { text } = passOn(api, [bytes(writeStreamedAnswer(api, scriptOf(['deny']), true).join(''))]);
    expect(text).toContain('Tool 6 was blocked');
    expect(readStream(api, text)).toEqual([]);
  });

  it('are dropped if the stream breaks off, and if the provider reports an error', () => {
    const frames = writeStreamedAnswer(api, script, true);
    const held = frames.findIndex((frame) => frame.includes('deny_'));
    const broken = passOn(api, [bytes(frames.slice(0, held + 1).join(''))]);
    expect(broken.answer.isHolding).toBe(true);
    expect(broken.answer.isComplete).toBe(false);
    const error = 'event: error\ndata: {"type":"error","error":{"message":"Overloaded"}}\n\n';
    const failed = passOn(api, [bytes([...frames.slice(0, held + 1), error].join(''))]);
    expect(failed.text).toContain('Overloaded');
    expect(failed.text).not.toContain('deny_');
  });

  it('have arguments that are no JSON', () => {
    const frames = writeStreamedAnswer(api, scriptOf(['deny']), true).join('');
    if (api === 'generate') return;
    const odd = frames.replaceAll('\\"secret\\"', 'secret');
    const { answer, text } = passOn(api, [bytes(odd)]);
    expect(answer.calls).toMatchObject([{ args: undefined }]);
    expect(text).not.toContain('deny_');
  });

  it('are decided in a whole answer, too', () => {
    const text = writeWholeAnswer(api, script);
    const read = readWholeAnswer(api, text);
    expect(summary(read?.calls ?? [])).toEqual(script.tools?.map(({ id, name, args }) => ({ id, name, args })));
    const rewritten = read?.rewrite(verdictsOf(read.calls)) ?? '';
    expect(rewritten).not.toMatch(/deny_|deny-/);
    expect(rewritten).toContain('was blocked');
    expect(readWholeAnswer(api, rewritten)?.calls.map(({ name }) => name)).toEqual(['free_0', 'allow_2', 'change_4']);
    const only = writeWholeAnswer(api, scriptOf(['deny']));
    const onlyRead = readWholeAnswer(api, only);
    const ended = onlyRead?.rewrite(verdictsOf(onlyRead.calls)) ?? '';
    if (api !== 'responses') expect(ended).toContain(ENDS[api][0]);
  });
});

describe('the shapes of tool calls', () => {
  it('of chat have no gaps in their indices', () => {
    const { text } = passOn('chat', [
      bytes(writeStreamedAnswer('chat', scriptOf(['deny', 'allow', 'deny', 'allow']), true).join('')),
    ]);
    const indices = Array.from(text.matchAll(/"index":(\d),"id":"call-(\d)"/g), ([, index, id]) => [index, id]);
    expect(indices).toEqual([
      ['0', '1'],
      ['1', '3'],
    ]);
  });

  it('of chat with one index for all are distinguished by their ids, and get indices of their own', () => {
    const chunk = (calls: object[], finish: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason: finish }] })}\n\n`;
    const begin = (id: string, name: string) => [{ index: 0, id, function: { name, arguments: '{"a":' } }];
    const goOn = (id?: string) => [{ index: 0, ...(id === undefined ? {} : { id }), function: { arguments: '1}' } }];
    const sent = [
      ...[chunk(begin('a', 'free_0')), chunk(goOn()), chunk(begin('b', 'deny_1')), chunk(goOn('b'))],
      // Some servers invent an id for every piece.
      ...[chunk(begin('c', 'allow_2')), chunk(goOn('x')), chunk([], 'tool_calls'), 'data: [DONE]\n\n'],
    ].join('');
    const { text, answer } = passOn('chat', [bytes(sent)]);
    const calls = ['free_0', 'deny_1', 'allow_2'].map((name) => ({ name, args: { a: 1 } }));
    expect(answer.calls).toMatchObject(calls);
    expect(text).not.toContain('deny_1');
    expect(text).toContain('Tool 6 was blocked');
    expect(text).toContain('"index":1,"id":"c"');
  });

  it('of Responses that only the last event names are held', () => {
    const item = { id: 'fc', type: 'function_call', call_id: 'c', name: 'deny_0', arguments: '{}' };
    const sent = `data: ${JSON.stringify({ type: 'response.completed', response: { output: [item] } })}\n\n`;
    const { text, answer } = passOn('responses', [bytes(sent)]);
    expect(answer.calls).toMatchObject([{ name: 'deny_0' }]);
    expect(text).not.toContain('deny_0');
  });

  it('of Responses are numbered without gaps', () => {
    const { text } = passOn('responses', [
      bytes(writeStreamedAnswer('responses', scriptOf(['deny', 'change']), true).join('')),
    ]);
    const numbers = Array.from(text.matchAll(/"sequence_number":(\d+)/g), ([, number]) => Number(number));
    expect(numbers).toEqual(numbers.map((_, at) => at));
  });

  it('of the earlier form of chat are held', () => {
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const sent = [
      chunk({ role: 'assistant', function_call: { name: 'deny_0', arguments: '' } }),
      chunk({ function_call: { arguments: '{"a":1}' } }),
      chunk({}, 'function_call'),
      'data: [DONE]\n\n',
    ].join('');
    const { text } = passOn('chat', [bytes(sent)]);
    expect(text).not.toContain('deny_');
    expect(text).toContain('"finish_reason":"stop"');
  });

  it('of Responses that run a shell are held by the name of their kind', () => {
    const item = {
      id: 'sh_1',
      type: 'local_shell_call',
      call_id: 'c1',
      action: { command: ['rm'] },
      status: 'completed',
    };
    const whole = readWholeAnswer(
      'responses',
      JSON.stringify({ output: [item, { type: 'web_search_call', id: 'ws' }] }),
    );
    expect(summary(whole?.calls ?? [])).toEqual([{ id: 'c1', name: 'local_shell', args: { command: ['rm'] } }]);
  });

  it('of Gemini are found in the list that a stream is without alt=sse', () => {
    const chunk = (name: string) => ({ candidates: [{ content: { parts: [{ functionCall: { name, args: {} } }] } }] });
    const read = readWholeAnswer('generate', JSON.stringify([chunk('allow_0'), chunk('deny_1')]));
    const text = read?.rewrite(verdictsOf(read.calls)) ?? '';
    expect(text).toContain('allow_0');
    expect(text).not.toContain('deny_');
  });
});
