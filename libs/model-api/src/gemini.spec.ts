import { describe, expect, it } from '@jest/globals';
import { readConversation } from './conversation.ts';
import { ProviderFrame } from './frame-scanner.ts';
import { findEndpoint, pickQuery } from './gateway-path.ts';
import { AnswerMeter } from './meter.ts';
import { readModelRequest } from './read-request.ts';
import { REFUSALS, writeRefusal, writeStopFrame } from './refusals.ts';

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const ADDRESSED = { model: 'gemini-3-flash', streamed: false };
const SAY = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
const read = (body: object) => readModelRequest('generate', bytes(body), ADDRESSED).request;

describe('the address of a Gemini call', () => {
  it.each([
    ['v1beta/models/gemini-3-flash:generateContent', 'generate', false],
    ['v1/models/gemini-3-flash:streamGenerateContent', 'generate', true],
    ['v1beta/models/text-embedding-004:embedContent', 'embed', false],
    ['v1beta/models/text-embedding-004:batchEmbedContents', 'embed', false],
  ])('%s is %s', (rest, api, streamed) => {
    const [, model = '', method] = /models\/(.*):(.*)/.exec(rest) ?? [];
    const path = `/${rest.split('/')[0]}/models/{model}:${method}`;
    expect(findEndpoint('gemini', 'POST', rest)).toEqual({ kind: 'model', api, path, addressed: { model, streamed } });
  });

  it.each([
    ['POST', 'v1beta/models/m:countTokens', { kind: 'free', path: '/v1beta/models/m:countTokens' }],
    ['GET', 'v1beta/models', { kind: 'models' }],
    ['GET', '', { kind: 'base' }],
    ['POST', 'v1beta/models/m:predict', undefined],
    ['POST', 'v1beta/cachedContents', undefined],
    ['POST', 'v1beta/tunedModels/m:generateContent', undefined],
    ['POST', 'v1/chat/completions', undefined],
  ])('%s %s', (method, rest, expected) => expect(findEndpoint('gemini', method, rest)).toEqual(expected));

  it('keeps only the forms of an answer that can be metered', () => {
    expect(pickQuery('/x?alt=sse&key=secret')).toBe('?alt=sse');
    expect(pickQuery('/x?alt=proto')).toBe('');
  });
});

describe('the body of a Gemini call', () => {
  it('names the tools, and what the provider runs itself, in both spellings', () => {
    const tools = [
      { functionDeclarations: [{ name: 'pay' }] },
      { function_declarations: [{ name: 'search' }] },
      { googleSearch: {}, codeExecution: {} },
    ];
    expect(read({ ...SAY, tools, generation_config: { max_output_tokens: 50 } })).toMatchObject({
      ...{ model: 'gemini-3-flash', streamed: false, maxTokens: 50 },
      ...{ tools: ['pay', 'search'], serverTools: ['googleSearch', 'codeExecution'] },
    });
  });

  it.each([
    [{ cachedContent: 'cachedContents/1' }, 'cachedContent'],
    [{ cached_content: 'cachedContents/1' }, 'cachedContent'],
    [{ model: 'models/gemini-3-pro' }, 'model'],
    [{ requests: [{ model: 'models/gemini-3-pro' }] }, 'model'],
    [{ generationConfig: {}, generation_config: {} }, 'generationConfig'],
    [{ systemInstruction: {}, system_instruction: {} }, 'systemInstruction'],
    [{ generationConfig: { maxOutputTokens: 1.5 } }, 'generationConfig'],
    [{ tools: [{ functionDeclarations: [{}] }] }, 'tools'],
    [{ tools: [{ functionDeclarations: {} }] }, 'tools'],
  ])('is refused with %j', (members, member) => {
    expect(() => read({ ...SAY, ...members })).toThrow(expect.objectContaining({ member }));
  });

  it('may repeat the model of the address', () => {
    expect(read({ ...SAY, model: 'models/gemini-3-flash' }).model).toBe('gemini-3-flash');
  });

  it('belongs to the conversation that it continues', () => {
    const place = (body: object) =>
      readConversation(bytes(body), readModelRequest('generate', bytes(body), ADDRESSED).scanned);
    const later = { contents: [...SAY.contents, { role: 'model', parts: [{ text: 'Hello' }] }] };
    expect(place(later)).toBe(place(SAY));
    expect(place({ ...SAY, systemInstruction: { parts: [{ text: 'Be brief' }] } })).not.toBe(place(SAY));
  });
});

describe('the usage of a Gemini call', () => {
  const usageMetadata = {
    ...{ promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 20, thoughtsTokenCount: 30 },
    ...{ toolUsePromptTokenCount: 5, totalTokenCount: 155 },
  };
  const last = { candidates: [{ finishReason: 'STOP', content: { parts: [{ text: 'a' }] } }], usageMetadata };

  it('counts thoughts as output, and results of server tools as input', () => {
    const meter = new AnswerMeter('generate', 7);
    meter.whole(bytes(last));
    expect(meter.end()).toMatchObject({
      usage: { inputTokens: 105, outputTokens: 50, totalTokens: 155, cacheReadTokens: 60, reasoningTokens: 30 },
      ...{ usageSource: 'provider', finishReason: 'STOP', isComplete: true },
    });
  });

  it('is read from the list that a stream is without alt=sse', () => {
    const meter = new AnswerMeter('generate', 7);
    const first = { candidates: [{ content: { parts: [{ functionCall: { name: 'pay' } }] } }] };
    meter.whole(bytes([first, last]));
    expect(meter.end()).toMatchObject({ usage: { outputTokens: 50 }, toolCalls: ['pay'], isComplete: true });
  });

  it('is partial if the stream broke off', () => {
    const meter = new AnswerMeter('generate', 7);
    const text = 'x'.repeat(35);
    const chunk = { candidates: [{ content: { parts: [{ text }] } }], usageMetadata: { promptTokenCount: 100 } };
    meter.frame(new ProviderFrame(new Uint8Array(), JSON.stringify(chunk), undefined));
    expect(meter.end()).toMatchObject({ usage: { inputTokens: 100, outputTokens: 10 }, usageSource: 'partial' });
  });
});

describe('refusals of Gemini', () => {
  it('have the shape and the statuses that its clients send once', () => {
    expect([REFUSALS.gemini.policy.status, REFUSALS.gemini.money.status]).toEqual([400, 402]);
    const { body } = writeRefusal('gemini', { kind: 'policy', code: 'agentlens_blocked', message: 'No' }, 'q');
    expect(JSON.parse(body)).toMatchObject({ error: { code: 400, message: 'No', status: 'FAILED_PRECONDITION' } });
  });

  it('end an open stream with one whole frame', () => {
    const stop = { kind: 'policy', code: 'agentlens_stopped', message: 'Stop' } as const;
    const frame = writeStopFrame('generate', stop, 'q', { created: undefined, sequenceNumber: 0 });
    expect(frame).toMatch(/^data: \{"error":\{"code":400,"message":"Stop".*\}\r\n\r\n$/);
  });
});

it('an embedding has an input only', () => {
  const body = bytes({ model: 'text-embedding-3-small', input: ['one', 'two'] });
  expect(readModelRequest('embeddings', body).request).toMatchObject({ maxTokens: 0, streamed: false });
  const meter = new AnswerMeter('embeddings', 7);
  meter.whole(bytes({ object: 'list', data: [], model: 'm', usage: { prompt_tokens: 12, total_tokens: 12 } }));
  expect(meter.end()).toMatchObject({ usage: { inputTokens: 12, totalTokens: 12 }, usageSource: 'provider' });
});
