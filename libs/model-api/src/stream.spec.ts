import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FrameScanner, type ProviderFrame } from './frame-scanner.ts';
import { AnswerMeter, type MeteredAnswer } from './meter.ts';
import type { ModelApi } from './model-dialect.ts';
import { type AnswerScript, writeStreamedAnswer, writeWholeAnswer } from './scripted-answer.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

const SCRIPT: AnswerScript = {
  id: 'answer-1',
  model: 'model-a',
  pieces: ['Grüße ', '🙂 ', 'und "Anführung"\n'],
  tools: [{ id: 'call-1', name: 'get_weather', args: { city: 'Zürich' } }],
  inputTokens: 1_200,
  outputTokens: 34,
  cachedTokens: 1_000,
};

function meterWhole(api: ModelApi, script: AnswerScript): MeteredAnswer {
  const meter = new AnswerMeter(api, 7);
  meter.whole(bytes(writeWholeAnswer(api, script)));
  return meter.end();
}

function cut(whole: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
  return [...ends, whole.length].map((end, at) => whole.subarray(at === 0 ? 0 : ends[at - 1], end));
}

function run(api: ModelApi, chunks: readonly Uint8Array[]) {
  const scanner = new FrameScanner();
  const meter = new AnswerMeter(api, 7);
  const frames: ProviderFrame[] = [];
  for (const chunk of chunks) frames.push(...scanner.push(chunk));
  for (const frame of frames) meter.frame(frame);
  const forwarded = Buffer.concat([...frames.map(({ raw }) => raw), scanner.rest()]);
  return { forwarded, answer: meter.end(), frames };
}

const APIS: readonly ModelApi[] = ['messages', 'chat', 'responses', 'generate'];
const FINISHED: Readonly<Partial<Record<ModelApi, string>>> = {
  messages: 'tool_use',
  chat: 'tool_calls',
  responses: 'completed',
  generate: 'STOP',
};
/** Frames of a stream until its first piece of text. */
const ONE_PIECE: Readonly<Partial<Record<ModelApi, number>>> = { messages: 4, chat: 2, responses: 5, generate: 1 };
/** APIs whose first frames say how many tokens the request has. */
const TELLS_INPUT: readonly ModelApi[] = ['messages', 'generate'];
const LINE_ENDS = ['\n', '\r\n', '\r'];

describe.each(APIS)('a stream of %s', (api) => {
  it('forwards the same bytes and meters the same usage, wherever it is cut and however its lines end', () => {
    const expected = meterWhole(api, SCRIPT);
    fc.assert(
      fc.property(fc.array(fc.nat(5_000), { maxLength: 60 }), fc.constantFrom(...LINE_ENDS), (places, lineEnd) => {
        const whole = bytes(writeStreamedAnswer(api, SCRIPT, true).join('').replaceAll('\n', lineEnd));
        const { forwarded, answer } = run(api, cut(whole, places));
        expect(forwarded.equals(Buffer.from(whole))).toBe(true);
        expect(answer).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it.each([1, 7, 4_096])('is the same in pieces of %i bytes', (size) => {
    const whole = bytes(writeStreamedAnswer(api, SCRIPT, true).join(''));
    const places = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => at * size);
    const { forwarded, answer } = run(api, cut(whole, places));
    expect(forwarded.equals(Buffer.from(whole))).toBe(true);
    expect(answer).toEqual(meterWhole(api, SCRIPT));
  });

  it('reports the usage of the provider', () => {
    const { usage, usageSource, finishReason, toolCalls, isComplete } = meterWhole(api, SCRIPT);
    expect({ usageSource, isComplete, toolCalls }).toEqual({
      usageSource: 'provider',
      isComplete: true,
      toolCalls: ['get_weather'],
    });
    expect(finishReason).toBe(FINISHED[api]);
    expect(usage).toMatchObject({ inputTokens: 1_200, outputTokens: 34, totalTokens: 1_234, cacheReadTokens: 1_000 });
  });

  it('counts what arrived of a stream that ends early, and never less than the request', () => {
    const events = writeStreamedAnswer(api, { ...SCRIPT, pieces: ['x'.repeat(350)], tools: [] }, true);
    const { answer } = run(api, [bytes(events.slice(0, ONE_PIECE[api]).join(''))]);
    expect(answer.isComplete).toBe(false);
    expect(answer.usageSource).toBe(TELLS_INPUT.includes(api) ? 'partial' : 'counted');
    expect(answer.usage).toMatchObject({ inputTokens: TELLS_INPUT.includes(api) ? 1_200 : 7, outputTokens: 100 });
  });

  it('is an estimate if nothing arrived', () => {
    expect(run(api, []).answer).toMatchObject({ usageSource: 'estimated', usage: { inputTokens: 7, outputTokens: 0 } });
  });

  it('survives frames that are no JSON, comments and events of other kinds', () => {
    const odd = [': keep-alive\n\n', 'data: {oops\n\n', 'event: odd\ndata: []\n\n', 'retry: 10\n\n', 'data:\n\n'];
    const whole = bytes([...odd, ...writeStreamedAnswer(api, SCRIPT, true)].join(''));
    const { forwarded, answer } = run(api, [whole]);
    expect(forwarded.equals(Buffer.from(whole))).toBe(true);
    expect(answer.usage).toEqual(meterWhole(api, SCRIPT).usage);
  });
});

it('counts a character of Chinese as about a token', () => {
  const read = say('messages', '答'.repeat(70)).concat(say('chat', '答'.repeat(70)));
  expect(read).toEqual([60, 60]);

  function say(api: 'messages' | 'chat', text: string) {
    const frames = writeStreamedAnswer(api, { ...SCRIPT, pieces: [text], tools: [] }, true);
    return [run(api, [bytes(frames.slice(0, ONE_PIECE[api]).join(''))]).answer.usage.outputTokens];
  }
});

describe('the usage of a chat', () => {
  const chunk = (value: object) => bytes(`data: ${JSON.stringify(value)}\n\n`);
  const say = (delta: object, usage?: object) => chunk({ choices: [{ index: 0, delta }], usage });
  const usage = { prompt_tokens: 9, completion_tokens: 0 };

  it('is not what a server reports before the end', () => {
    const begun = [say({ content: 'x'.repeat(350) }, usage), say({ content: 'x'.repeat(350) }, usage)];
    expect(run('chat', begun).answer).toMatchObject({
      usageSource: 'partial',
      usage: { inputTokens: 9, outputTokens: 200 },
    });
    const whole = { choices: [], usage: { ...usage, completion_tokens: 150 } };
    const ended = [...begun, chunk({ choices: [{ delta: {}, finish_reason: 'stop' }] }), chunk(whole)];
    expect(run('chat', ended).answer).toMatchObject({ usageSource: 'provider', usage: { outputTokens: 150 } });
  });

  it.each([
    { reasoning: 'x'.repeat(35) },
    { tool_calls: [{ index: 0, custom: { name: 'sh', input: 'x'.repeat(35) } }] },
    { function_call: { name: 'sh', arguments: 'x'.repeat(35) } },
  ])('is counted in every form of an answer: %j', (delta) => {
    expect(run('chat', [say(delta)]).answer.usage.outputTokens).toBe(10);
  });
});

it('counts all candidates of Gemini', () => {
  const candidates = [1, 2].map(() => ({ content: { parts: [{ text: 'x'.repeat(35) }] } }));
  expect(run('generate', [bytes(`data: ${JSON.stringify({ candidates })}\n\n`)]).answer.usage.outputTokens).toBe(20);
});

describe('the frames of a stream', () => {
  it('join data lines and read the event', () => {
    const [frame] = new FrameScanner().push(bytes('event: a\ndata: one\ndata:two\n\n'));
    expect(frame).toMatchObject({ event: 'a', data: 'one\ntwo' });
  });

  it('have a limit', () => {
    const scanner = new FrameScanner(10);
    scanner.push(bytes('data: 01'));
    expect(scanner.isOverfull).toBe(false);
    scanner.push(bytes('23456789'));
    expect(scanner.isOverfull).toBe(true);
    expect(Buffer.from(scanner.rest()).toString()).toBe('data: 0123456789');
  });
});
