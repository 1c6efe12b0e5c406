import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createOpenAICompatible as createV2 } from 'ai-sdk-v2-model';
import { createOpenAICompatible as createV3 } from 'ai-sdk-v3-model';
import { createOpenAICompatible as createV4 } from 'ai-sdk-v4-model';
import { Message } from '../core/message.ts';
import { fromAiSdkModel } from './ai-sdk-model.ts';
import { anthropic } from './anthropic.ts';
import type { LLMClient, ModelPart } from './llm-client.ts';
import { openaiCompatible } from './openai-compatible.ts';

type Events = readonly (string | object)[];

/** The provider's next answer: a status, or events followed by the end, a cut or silence. */
interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly events?: Events;
  readonly finish?: 'end' | 'cut' | 'hang';
}

let answer: Answer = {};
let requests: { readonly body: Record<string, unknown>; readonly headers: IncomingMessage['headers'] }[] = [];
let closed: Promise<void>;
let server: Server;
let url: string;

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  requests.push({ body: JSON.parse(Buffer.concat(chunks).toString()), headers: request.headers });
  closed = new Promise((resolve) => response.on('close', resolve));
  const { status = 200, headers = {}, events = [], finish = 'end' } = answer;
  response.writeHead(status, { 'content-type': status === 200 ? 'text/event-stream' : 'application/json', ...headers });
  if (status !== 200) {
    response.end('{"error":{"message":"the prompt was: secret"}}');
    return;
  }
  for (const event of events)
    response.write(
      typeof event === 'string'
        ? event
        : `event: ${String((event as { type?: string }).type ?? 'message')}\ndata: ${JSON.stringify(event)}\n\n`,
    );
  if (finish === 'end') response.end();
  if (finish === 'cut') response.socket?.end();
}

beforeAll(async () => {
  server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  requests = [];
});

const chat = (delta: object, finish: string | null = null) => ({
  id: 'r1',
  model: 'm-2',
  object: 'chat.completion.chunk',
  created: 1,
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const chatUsage = {
  id: 'r1',
  model: 'm-2',
  choices: [],
  usage: { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14, prompt_tokens_details: { cached_tokens: 6 } },
};
const call = (index: number, id: string | undefined, name: string | undefined, args: string) => ({
  tool_calls: [
    {
      index,
      ...(id === undefined ? {} : { id, type: 'function' }),
      function: { ...(name === undefined ? {} : { name }), arguments: args },
    },
  ],
});
const DONE = 'data: [DONE]\n\n';

const block = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block });
const delta = (index: number, given: object) => ({ type: 'content_block_delta', index, delta: given });
const begin = {
  type: 'message_start',
  message: { id: 'r1', model: 'm-2', usage: { input_tokens: 4, cache_read_input_tokens: 6, output_tokens: 1 } },
};
const end = (stop_reason: string) => [
  { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
];

interface Dialect {
  readonly text: Events;
  readonly thinking: Events;
  readonly calls: Events;
  readonly badCall: Events;
  readonly cutText: Events;
  readonly cutCall: Events;
}

const CHAT: Dialect = {
  text: [chat({ role: 'assistant', content: 'Hel' }), chat({ content: 'lo 👋' }), chat({}, 'stop'), chatUsage, DONE],
  thinking: [chat({ reasoning_content: 'hm' }), chat({ content: 'ok' }), chat({}, 'stop'), chatUsage, DONE],
  calls: [
    chat(call(0, 'a', 'add', '{"a":')),
    chat(call(0, undefined, undefined, '1}')),
    chat(call(1, 'b', 'now', '{}')),
    chat({}, 'tool_calls'),
    chatUsage,
    DONE,
  ],
  badCall: [chat(call(0, 'a', 'add', '{"a": oops')), chat({}, 'tool_calls'), chatUsage, DONE],
  cutText: [chat({ content: 'Hel' })],
  cutCall: [chat(call(0, 'a', 'add', '{"a":'))],
};
const MESSAGES: Dialect = {
  text: [
    begin,
    block(0, { type: 'text', text: '' }),
    delta(0, { type: 'text_delta', text: 'Hel' }),
    { type: 'ping' },
    delta(0, { type: 'text_delta', text: 'lo 👋' }),
    { type: 'content_block_stop', index: 0 },
    ...end('end_turn'),
  ],
  thinking: [
    begin,
    block(0, { type: 'thinking', thinking: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'hm' }),
    delta(0, { type: 'signature_delta', signature: 'sig' }),
    block(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'ok' }),
    ...end('end_turn'),
  ],
  calls: [
    begin,
    block(0, { type: 'tool_use', id: 'a', name: 'add', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '{"a":' }),
    delta(0, { type: 'input_json_delta', partial_json: '1}' }),
    block(1, { type: 'tool_use', id: 'b', name: 'now', input: {} }),
    ...end('tool_use'),
  ],
  badCall: [
    begin,
    block(0, { type: 'tool_use', id: 'a', name: 'add', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '{"a": oops' }),
    ...end('tool_use'),
  ],
  cutText: [begin, block(0, { type: 'text', text: '' }), delta(0, { type: 'text_delta', text: 'Hel' })],
  cutCall: [
    begin,
    block(0, { type: 'tool_use', id: 'a', name: 'add', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '{"a":' }),
  ],
};

const sdk = () => ({ name: 'fake', apiKey: 'k', baseURL: `${url}/v1`, includeUsage: true });
const CLIENTS: readonly (readonly [string, Dialect, () => LLMClient])[] = [
  ['anthropic', MESSAGES, () => anthropic({ apiKey: 'k', model: 'm-1', baseUrl: url })],
  ['openai-compatible', CHAT, () => openaiCompatible({ apiKey: 'k', model: 'm-1', baseUrl: `${url}/v1` })],
  ['AI SDK v2', CHAT, () => fromAiSdkModel(createV2(sdk())('m-1'))],
  ['AI SDK v3', CHAT, () => fromAiSdkModel(createV3(sdk())('m-1'))],
  ['AI SDK v4', CHAT, () => fromAiSdkModel(createV4(sdk())('m-1'))],
];

const tools = [
  { name: 'add', description: 'Adds.', inputSchema: { type: 'object', properties: { a: { type: 'number' } } } },
];

async function parts(client: LLMClient, options = {}): Promise<ModelPart[]> {
  const all: ModelPart[] = [];
  for await (const part of client.stream?.('hi', options) ?? []) all.push(part);
  return all;
}

describe.each(CLIENTS)('%s', (name, dialect, make) => {
  it('streams text and returns it complete with its tokens', async () => {
    answer = { events: dialect.text };
    const all = await parts(make(), { system: 'Be kind.', tools });
    expect(all.flatMap((part) => (part.type === 'text-delta' ? [part.text] : []))).toEqual(['Hel', 'lo 👋']);
    expect(all.at(-1)).toMatchObject({
      type: 'response',
      response: {
        id: 'r1',
        model: 'm-2',
        content: [{ type: 'text', text: 'Hello 👋' }],
        stopReason: 'end_turn',
        usage: { inputTokens: 10, outputTokens: 4, cacheReadTokens: 6, total: 14 },
      },
    });
    expect(requests[0]?.body).toMatchObject({ model: 'm-1', stream: true });
    expect(JSON.stringify(requests[0]?.body)).toContain('Be kind.');
    expect(JSON.stringify(requests[0]?.body)).toContain('"add"');
  });

  it('streams thinking separately from text', async () => {
    answer = { events: dialect.thinking };
    const all = await parts(make());
    expect(all.filter(({ type }) => type === 'thinking-delta')).toEqual([{ type: 'thinking-delta', text: 'hm' }]);
    expect(all.at(-1)).toMatchObject({
      response: {
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'ok' },
        ],
      },
    });
  });

  it('returns parallel calls and sends their results back', async () => {
    answer = { events: dialect.calls };
    const first = await make().call('hi', { tools });
    expect(first).toMatchObject({
      stopReason: 'tool_use',
      content: [
        { type: 'tool_use', id: 'a', name: 'add', input: { a: 1 } },
        { type: 'tool_use', id: 'b', name: 'now', input: {} },
      ],
    });
    answer = { events: dialect.text };
    const results = Message.user([
      { type: 'tool_result', toolUseId: 'a', name: 'add', content: { sum: 2 }, isError: false },
      { type: 'tool_result', toolUseId: 'b', name: 'now', content: 'no clock', isError: true },
    ]);
    await make().call([Message.user('hi'), Message.assistant(first.content), results, Message.user('and?')], { tools });
    const sent = JSON.stringify(requests[1]?.body);
    for (const piece of ['"a"', '"b"', 'no clock', 'sum', 'and?']) expect(sent).toContain(piece);
  });

  it('passes invalid JSON input on as the model wrote it', async () => {
    answer = { events: dialect.badCall };
    expect((await make().call('hi', { tools })).content).toMatchObject([
      { type: 'tool_use', name: 'add', input: {}, malformed: '{"a": oops' },
    ]);
  });

  it.each([
    ['text', 'cutText'],
    ['a call', 'cutCall'],
  ] as const)('does not accept an answer truncated in %s as complete', async (_where, events) => {
    for (const finish of ['end', 'cut'] as const) {
      answer = { events: dialect[events], finish };
      await expect(make().call('hi', { tools })).rejects.toMatchObject({
        code: expect.stringMatching(/^model_(cut_off|unavailable)$/),
      });
    }
  });

  it.each([
    [429, 'model_rate_limited', { 'retry-after': '2' }],
    [500, 'model_unavailable', {}],
    [401, 'model_unauthorized', {}],
    [400, 'model_invalid_request', {}],
  ] as const)('maps status %d to an error code without the provider’s text', async (status, code, headers) => {
    answer = { status, headers };
    const error = await make()
      .call('hi')
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, ...(status === 429 ? { info: { retryAfterMs: 2_000 } } : {}) });
    expect(String((error as Error).message)).not.toContain('secret');
  });

  it('closes its connection when it is aborted', async () => {
    answer = { events: dialect.cutText, finish: 'hang' };
    const controller = new AbortController();
    const reason = new Error('enough');
    const read = async () => {
      for await (const part of make().stream?.('hi', { signal: controller.signal }) ?? [])
        if (part.type === 'text-delta') controller.abort(reason);
    };
    await expect(read()).rejects.toBe(reason);
    await closed;
  });

  it('reports an unreachable provider', async () => {
    const saved = url;
    url = 'http://127.0.0.1:9';
    const client = make();
    url = saved;
    await expect(client.call('hi')).rejects.toMatchObject({ code: 'model_unavailable' });
  });

  it('keeps its key out of everything but the request', async () => {
    answer = { events: dialect.text };
    expect(JSON.stringify(await make().call('hi'))).not.toContain('"k"');
    const headers: IncomingMessage['headers'] = requests[0]?.headers ?? {};
    expect(name === 'anthropic' ? headers['x-api-key'] : headers.authorization).toBe(
      name === 'anthropic' ? 'k' : 'Bearer k',
    );
  });
});

describe('anthropic', () => {
  it('returns thinking with its signature, and omits thinking without one', async () => {
    answer = { events: MESSAGES.text };
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'sig' } as const;
    await anthropic({ apiKey: 'k', model: 'm', baseUrl: url }).call([
      Message.user('a'),
      Message.assistant([thinking, { type: 'thinking', thinking: 'other' }, { type: 'text', text: 'b' }]),
      Message.user('c'),
    ]);
    expect(requests[0]?.body.messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'sig' },
          { type: 'text', text: 'b' },
        ],
      },
      {},
    ]);
  });

  it('distinguishes an overloaded stream from a broken one', async () => {
    answer = { events: [begin, { type: 'error', error: { type: 'overloaded_error' } }] };
    await expect(anthropic({ apiKey: 'k', model: 'm', baseUrl: url }).call('a')).rejects.toMatchObject({
      code: 'model_unavailable',
    });
  });

  it('requires a key and an address', () => {
    expect(() => anthropic({ apiKey: '', model: 'm' })).toThrow(expect.objectContaining({ code: 'invalid_config' }));
    expect(() => openaiCompatible({ apiKey: 'k', model: 'm', baseUrl: 'nowhere' })).toThrow(
      expect.objectContaining({ code: 'invalid_config' }),
    );
  });
});
