import {
  type AnsweredCall,
  AnswerMeter,
  type AnswerScript,
  type ModelApi,
  type ToolVerdict,
  writeStreamedAnswer,
  writeWholeAnswer,
} from '@agentlens/model-api';
import { describe, expect, it } from '@jest/globals';
import type { GatewayCall } from '../gateway-call.ts';
import { GrowingReservation } from './growing-reservation.ts';
import { PassedAnswer } from './passed-answer.ts';

const SCRIPT: AnswerScript = {
  ...{ id: 'answer-1', model: 'model-a', inputTokens: 10, outputTokens: 5 },
  pieces: ['Let me see.'],
  tools: [{ id: 'call-1', name: 'pay', args: { amount: 7 } }],
};

/** An answer that is passed on, with what the client got and which calls were asked about. */
function passing(
  api: ModelApi,
  judge: (call: AnsweredCall) => ToolVerdict,
  tools: readonly string[] = ['pay'],
  after?: 'allow' | 'block',
) {
  const written: string[] = [];
  /** What the rules about answers were asked, and when. */
  const order: string[] = [];
  const asked: string[] = [];
  const noted: string[] = [];
  const ending = new AbortController();
  const call = { api, addedUsage: false, request: { tools } } as unknown as GatewayCall;
  const estimate = { stepTokens: 1_000, maxTokens: undefined, usageAt: () => ({ tokens: 0, costUsd: 0 }) };
  const answer = new PassedAnswer({
    call,
    meter: new AnswerMeter(api, 10),
    growing: new GrowingReservation(
      { estimate, grow: async () => undefined, renew: async () => undefined },
      ending.signal,
      () => undefined,
    ),
    rules: {
      concern: () => after !== undefined,
      require: async (_call, { finishReason, toolCalls }) => {
        order.push(`decided ${finishReason} ${toolCalls.join(' ')} after ${written.length} writes`);
        if (after === 'block') throw new Error('blocked');
      },
      note: async (_call, { finishReason }) =>
        void order.push(`noted ${finishReason} after ${written.join('').length}`),
    },
    tools: {
      holds: (_call, name) => name === 'pay' || name === '',
      decide: async (_call, calls) => {
        asked.push(...calls.map(({ name }) => name));
        return new Map(calls.map((one) => [one.key, judge(one)]));
      },
      note: (_call, calls) => noted.push(...calls.map(({ name }) => name)),
    },
    write: async (bytes) => {
      written.push(typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString());
    },
    signal: ending.signal,
  });
  return { answer, asked, noted, order, ending, text: () => written.join('') };
}

async function* chunksOf(...texts: readonly string[]) {
  for (const text of texts) yield new TextEncoder().encode(text);
}

const allow = (): ToolVerdict => ({ kind: 'allow' });
const block = (): ToolVerdict => ({ kind: 'block', text: 'No' });

describe('an answer that is passed on', () => {
  it('is decided although no blank line ends its last frame', async () => {
    const { answer, asked, text } = passing('chat', block);
    const frames = writeStreamedAnswer('chat', SCRIPT, false).join('').trimEnd();
    await answer.passStream(chunksOf(frames));
    expect(asked).toEqual(['pay']);
    expect(text()).not.toContain('pay');
  });

  it('keeps a tool call in a frame that the provider left incomplete', async () => {
    const { answer, text } = passing('messages', block);
    const frames = writeStreamedAnswer('messages', SCRIPT, false);
    const started = frames.findIndex((frame) => frame.includes('"pay"'));
    const cut = frames
      .slice(0, started + 1)
      .join('')
      .trimEnd();
    await expect(answer.passStream(chunksOf(cut))).rejects.toThrow('ended inside a tool call');
    expect(text()).toContain('Let me see.');
    expect(text()).not.toContain('pay');
  });

  it('notes the calls that no rule selects, and passes them on as they are', async () => {
    const { answer, asked, noted, text } = passing('messages', block);
    const free = { ...SCRIPT, tools: [{ id: 'call-2', name: 'look', args: {} }] };
    const sent = writeStreamedAnswer('messages', free, false).join('');
    await answer.passStream(chunksOf(sent));
    expect([asked, noted]).toEqual([[], ['look']]);
    expect(text()).toBe(sent);
  });

  it('asks about each call once, also if more of them follow the end that a provider announced', async () => {
    const { answer, asked } = passing('generate', allow);
    const last = (name: string) => {
      const content = { parts: [{ functionCall: { name, args: {} } }] };
      return `data: ${JSON.stringify({ candidates: [{ content, finishReason: 'STOP' }] })}\n\n`;
    };
    await answer.passStream(chunksOf(last('pay'), last('pay')));
    expect(asked).toEqual(['pay', 'pay']);
  });

  it('is stopped if a frame is too large to be read and may hold a tool call', async () => {
    const huge = `data: ${'x'.repeat(17 * 1024 * 1024)}`;
    const { answer, text } = passing('messages', allow);
    await expect(answer.passStream(chunksOf(huge))).rejects.toThrow('too large to be checked');
    expect(text()).toBe('');
    const without = passing('messages', allow, []);
    await without.answer.passStream(chunksOf(huge, 'more'));
    expect(without.text()).toHaveLength(huge.length + 4);
  });

  it('is stopped if it has more tool calls than any answer needs', async () => {
    const { answer, text } = passing('messages', allow);
    const tools = Array.from({ length: 257 }, (_, at) => ({ id: `c${at}`, name: 'pay', args: {} }));
    const frames = writeStreamedAnswer('messages', { ...SCRIPT, tools }, false).join('');
    await expect(answer.passStream(chunksOf(frames))).rejects.toThrow('too large to be checked');
    expect(text()).not.toContain('pay');
  });

  it('is passed on no further when it was ended while it waited', async () => {
    const { answer, ending, text } = passing('chat', allow);
    ending.abort(new Error('killed'));
    await expect(answer.passStream(chunksOf(...writeStreamedAnswer('chat', SCRIPT, false)))).rejects.toThrow('killed');
    expect(text()).toBe('');
  });

  it('that is no stream keeps its bytes if its calls are allowed', async () => {
    const odd = writeWholeAnswer('chat', SCRIPT).replace('"created":1760000000', '"created": 1.760e9');
    const { answer, asked, text } = passing('chat', allow);
    await answer.passWhole(chunksOf(odd.slice(0, 50), odd.slice(50)));
    expect([asked, text()]).toEqual([['pay'], odd]);
  });

  it('that is no JSON passes as it is', async () => {
    const { answer, text } = passing('chat', block);
    await answer.passWhole(chunksOf('<html>pay</html>'));
    expect(text()).toBe('<html>pay</html>');
  });
});

describe('an answer that rules decide', () => {
  const whole = writeWholeAnswer('chat', SCRIPT);

  it('is held if it is no stream, and decided before its tool calls', async () => {
    const { answer, order, asked, text } = passing('chat', allow, [], 'allow');
    await answer.passWhole(chunksOf(whole.slice(0, 9), whole.slice(9)));
    expect([order, asked, text()]).toEqual([['decided tool_calls pay after 0 writes'], ['pay'], whole]);
  });

  it('does not reach the client if it is no stream and a rule blocks it', async () => {
    const { answer, asked, text } = passing('chat', allow, [], 'block');
    await expect(answer.passWhole(chunksOf(whole))).rejects.toThrow('blocked');
    expect([asked, text()]).toEqual([[], '']);
  });

  it('is decided when the client has it if it is a stream', async () => {
    const frames = writeStreamedAnswer('chat', SCRIPT, false).join('');
    const { answer, order, text } = passing('chat', allow, [], 'block');
    await answer.passStream(chunksOf(frames));
    expect([order, text()]).toEqual([[`noted tool_calls after ${frames.length}`], frames]);
  });

  it('is not held without such rules', async () => {
    const { answer, order, text } = passing('chat', allow, []);
    await answer.passWhole(chunksOf(whole.slice(0, 9), whole.slice(9)));
    expect([order, text()]).toEqual([[], whole]);
  });
});
