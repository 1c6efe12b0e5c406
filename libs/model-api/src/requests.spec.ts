import { describe, expect, it } from '@jest/globals';
import { readConversation } from './conversation.ts';
import fc from 'fast-check';
import { findEndpoint, pickQuery, readGatewayPath } from './gateway-path.ts';
import { findClient, isForwardable, pickAnswerHeaders, pickRequestHeaders } from './provider-headers.ts';
import { readModelRequest } from './read-request.ts';
import { REFUSALS, type RefusalKind, writeRefusal, writeStopFrame } from './refusals.ts';
import { scanObject } from './scan-object.ts';

const bytes = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));

describe('the address of a call', () => {
  it.each([
    ['/gw/anthropic/v1/messages?beta=true', { connection: 'anthropic', rest: 'v1/messages' }],
    ['/gw/openai/v1/chat/completions', { connection: 'openai', rest: 'v1/chat/completions' }],
    [
      '/gw/anthropic/agent/bot/run/r%201/v1/messages',
      { connection: 'anthropic', agent: 'bot', run: 'r 1', rest: 'v1/messages' },
    ],
    ['/gw/anthropic/run/r1/v1/messages', { connection: 'anthropic', run: 'r1', rest: 'v1/messages' }],
    ['/gw/anthropic/', { connection: 'anthropic', rest: '' }],
  ])('%s', (url, expected) => {
    expect(readGatewayPath(url)).toEqual({ agent: undefined, run: undefined, ...expected });
  });

  it.each([
    '/gw/a/../v1/messages',
    '/gw/a/%2e%2e/v1/messages',
    '/gw/a/.%2E/v1/messages',
    '/gw/a//v1/messages',
    '/gw//a/v1',
    '/gw/a/v1%2fmessages',
    '/gw/a/v1%5cmessages',
    '/gw/a/v1\\messages',
    '/gw/a/v1/messages%00',
    '/gw/a/%',
    '/gw/a/%ff',
    '/gw/a/%252e%252e/v1',
    '/gw/a/v1/messages#x',
    'http://evil.example/gw/a/v1/messages',
    '/gw',
    `/gw/a/${'x'.repeat(3_000)}`,
  ])('refuses %s', (url) => {
    expect(readGatewayPath(url)).toBeUndefined();
  });

  it('never leads out of what a dialect serves', () => {
    fc.assert(
      fc.property(fc.string(), (rest) => {
        const path = readGatewayPath(`/gw/anthropic/${rest}`);
        const endpoint = path && findEndpoint('anthropic', 'POST', path.rest);
        if (endpoint === undefined || !('path' in endpoint)) return;
        expect(['/v1/messages', '/v1/messages/count_tokens']).toContain(endpoint.path);
      }),
    );
  });

  it('forwards no key in the query', () => {
    expect(pickQuery('/gw/a/v1/messages?beta=true&key=secret&api-version=1')).toBe('?beta=true');
    expect(pickQuery('/gw/a/v1/messages?key=secret')).toBe('');
  });
});

describe('headers', () => {
  const HOP = [
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'proxy-authorization',
    'expect',
  ];
  const CREDENTIALS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'cookie', 'proxy-authorization'];
  const OWN = [
    'x-agentlens-agent',
    'x-agentlens-run',
    'x-agentlens-key',
    'x-forwarded-for',
    'forwarded',
    'via',
    'host',
  ];

  it.each([...HOP, ...CREDENTIALS, ...OWN])(
    '%s never reaches the provider, even if the connection names it',
    (name) => {
      expect(isForwardable(name)).toBe(false);
      expect(pickRequestHeaders({ [name]: 'x', [name.toUpperCase()]: 'x' }, [name])).toEqual({});
    },
  );

  it.each([...HOP, 'set-cookie', 'location', 'authorization', 'x-agentlens-call', 'server', 'cf-ray'])(
    '%s of a provider never reaches the client',
    (name) => {
      expect(pickAnswerHeaders({ [name]: 'x' })).toEqual({});
    },
  );

  it('pass what the APIs need, byte for byte', () => {
    const sent = { 'anthropic-beta': 'a-2025,b', 'Anthropic-Version': '2023-06-01', 'x-custom': 'y' };
    expect(pickRequestHeaders(sent, ['x-custom'])).toEqual({
      'anthropic-beta': 'a-2025,b',
      'anthropic-version': '2023-06-01',
      'x-custom': 'y',
    });
    expect(
      pickAnswerHeaders({ 'request-id': 'r', 'anthropic-ratelimit-tokens-limit': '5', 'retry-after': '2' }),
    ).toEqual({
      'request-id': 'r',
      'anthropic-ratelimit-tokens-limit': '5',
      'retry-after': '2',
    });
  });
});

describe('a request', () => {
  it('of Anthropic is read with its tools, those of the provider apart', () => {
    const body = {
      model: 'claude-x',
      max_tokens: 32_000,
      stream: true,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [
        { name: 'Bash', input_schema: {} },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      mcp_servers: [{ type: 'url', name: 'files', url: 'https://x' }],
    };
    expect(readModelRequest('messages', bytes(body)).request).toMatchObject({
      model: 'claude-x',
      streamed: true,
      maxTokens: 32_000,
      tools: ['Bash', 'bash'],
      serverTools: ['web_search', 'mcp:files'],
    });
  });

  it.each([
    [{ model: 'm', stream: true }, true],
    [{ model: 'm', stream: true, stream_options: { include_usage: true } }, false],
    [{ model: 'm', stream: false }, false],
  ])('of chat %j lacks the usage of its stream: %s', (body, lacks) => {
    expect(readModelRequest('chat', bytes(body)).lacksStreamUsage).toBe(lacks);
  });

  it.each([
    ['{"model":5}', 'must be the name of a model'],
    ['{}', 'must be the name of a model'],
    ['{"model":" m "}', 'without spaces'],
    ['{"model":"m","stream":"yes"}', 'must be true or false'],
    ['{"model":"m","max_tokens":-1}', 'must be a whole number'],
    [`{"model":"m","tools":[{"name":"${'x'.repeat(200_000)}"}]}`, 'must have names of at most 128 KiB'],
    ['{"model":"m\\u0000"}', 'control characters'],
    ['{"model":"m","tools":[{"name":"\\ud800"}]}', 'half characters'],
    [`{${Array.from({ length: 1_001 }, (_, at) => `"a${at}":1`).join()}}`, 'at most 1000 members'],
    ['{"model":"m","tools":{}}', 'must be a list'],
    ['{"model":"m","tools":[{}]}', 'must each have a name'],
    ['{"model":"m","tools":[{"name":"a","name":"b"}]}', 'key twice'],
  ])('%s is refused', (body, problem) => {
    expect(() => readModelRequest('messages', bytes(body))).toThrow(problem);
  });

  it.each([
    ['messages', { max_tokens: 9_000, max_output_tokens: 1, max_completion_tokens: 1 }],
    ['chat', { max_tokens: 9_000, max_completion_tokens: 1, max_output_tokens: 1 }],
    ['responses', { max_output_tokens: 9_000, max_tokens: 1 }],
  ] as const)('of %s is limited by what its provider reads: %j', (api, limits) => {
    expect(readModelRequest(api, bytes({ model: 'm', ...limits })).request.maxTokens).toBe(9_000);
  });

  it('keeps what else a client asks of its stream', () => {
    const body = { model: 'm', stream: true, stream_options: { include_obfuscation: false } };
    expect(readModelRequest('chat', bytes(body))).toMatchObject({
      lacksStreamUsage: true,
      streamOptions: { include_obfuscation: false },
    });
    expect(() => readModelRequest('chat', bytes({ ...body, stream_options: 'all' }))).toThrow('must be an object');
  });

  it('is estimated by its text, not by its images', () => {
    const image = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo'.repeat(100_000) };
    const { request } = readModelRequest('messages', bytes({ model: 'm', messages: [{ content: [image] }] }));
    expect(request.attachments).toBe(1);
    expect(request.inputTokens).toBeLessThan(3_000);
  });

  it.each([
    ['a text without a space', 'messages', { messages: [{ role: 'user', content: 'do_it_'.repeat(5_000) }] }],
    [
      'arguments of a tool',
      'messages',
      { messages: [{ content: [{ type: 'tool_use', input: { deep: [{ data: 'a'.repeat(30_000) }] } }] }] },
    ],
    ['a text of Responses', 'responses', { input: [{ content: [{ type: 'input_text', text: 'a'.repeat(30_000) }] }] }],
  ] as const)('is estimated by %s', (_what, api, body) => {
    const { request } = readModelRequest(api, bytes({ model: 'm', ...body }));
    expect(request.attachments).toBe(0);
    expect(request.inputTokens).toBeGreaterThanOrEqual(10_000);
  });

  it.each([
    ['chat', { messages: [{ content: [{ image_url: { url: `data:image/png;base64,${'a'.repeat(30_000)}` } }] }] }],
    ['chat', { messages: [{ content: [{ input_audio: { data: 'a'.repeat(30_000), format: 'wav' } }] }] }],
    ['responses', { input: [{ content: [{ image_url: `data:image/png;base64,${'a'.repeat(30_000)}` }] }] }],
    ['responses', { input: [{ type: 'reasoning', encrypted_content: 'a'.repeat(30_000) }] }],
    ['generate', { contents: [{ parts: [{ inlineData: { data: 'a'.repeat(30_000) } }] }] }],
  ] as const)('has an attachment in %s: %j', (api, body) => {
    const addressed = api === 'generate' ? { model: 'm', streamed: false } : undefined;
    const sent = addressed === undefined ? { model: 'm', ...body } : body;
    expect(readModelRequest(api, bytes(sent), addressed).request).toMatchObject({ attachments: 1 });
  });
});

describe('a request of Responses', () => {
  it('names the tools of the provider apart', () => {
    const tools = [
      { type: 'function', name: 'run' },
      { type: 'local_shell' },
      { type: 'web_search' },
      { type: 'mcp', server_label: 'files', server_url: 'https://x' },
    ];
    const read = readModelRequest('responses', bytes({ model: 'm', input: 'hi', max_output_tokens: 9, tools }));
    expect(read.request).toMatchObject({
      maxTokens: 9,
      tools: ['run', 'local_shell'],
      serverTools: ['web_search', 'mcp:files'],
    });
  });

  it.each([
    [{ conversation: 'conv_1' }],
    [{ background: true }],
    [{ prompt: { id: 'pmpt_1' } }],
    [{ previous_response_id: 5 }],
  ])('%j is refused', (member) => {
    const read = () => readModelRequest('responses', bytes({ model: 'm', ...member }));
    expect(read).toThrow(/not supported|must be a text/);
  });
});

describe('a conversation', () => {
  const of = (body: object) => readConversation(bytes(body), scanObject(bytes(body)));
  const first = { role: 'user', content: 'Plan my trip' };

  it('keeps its name while it grows', () => {
    const grown = [first, { role: 'assistant', content: 'Where to?' }, { role: 'user', content: 'Rome' }];
    expect(of({ system: 's', messages: grown })).toBe(of({ system: 's', messages: [first], stream: true }));
  });

  it('differs by its first message and its system text', () => {
    const base = of({ system: 's', messages: [first] });
    expect(of({ system: 't', messages: [first] })).not.toBe(base);
    expect(of({ system: 's', messages: [{ role: 'user', content: 'Other' }] })).not.toBe(base);
    expect(of({ messages: [{ role: 'system', content: 's' }, first] })).not.toBe(
      of({ messages: [{ role: 'system', content: 't' }, first] }),
    );
  });

  it('is named by its role wherever that stands, with any text', () => {
    const said = { content: [{ text: 'a "quote" \\\\', n: -1.5e3 }, null, true], role: 'user' };
    const base = of({ messages: [said] });
    expect(of({ messages: [said, { role: 'user', content: 'more' }] })).toBe(base);
    expect(of({ messages: [{ ...said, role: 'tool' }, said] })).not.toBe(base);
    expect(of({ messages: [{ content: 'Hi', role: 'assistant' }, said] })).toBe(base);
  });

  it('is read as far as its first message, and no further', () => {
    const body = bytes({ messages: [first, { role: 'assistant', content: 'x'.repeat(1_000) }] });
    const scanned = scanObject(body);
    const before = readConversation(body, scanned);
    body.fill(0x20, body.indexOf('x'.charCodeAt(0)));
    expect(readConversation(body, scanned)).toBe(before);
  });

  it('has a short name, and another one for another end of a long first message', () => {
    const long = (end: string) => of({ messages: [{ role: 'user', content: `${'x'.repeat(1_000_000)}${end}` }] });
    expect(long('1').length).toBeLessThan(100_000);
    expect(long('1')).not.toBe(long('2'));
  });

  it('is not searched for a first message without end', () => {
    const endless = Array.from({ length: 1_000 }, () => ({ role: 'system', content: 'x'.repeat(100) }));
    expect(of({ messages: endless }).length).toBeLessThan(10_000);
  });
});

describe('known clients', () => {
  it('name their agent and session', () => {
    const claude = { 'user-agent': 'claude-cli/2.1.332 (external, cli)', 'x-claude-code-session-id': 's1' };
    expect(findClient(claude)).toEqual({ agent: 'claude-code', session: 's1' });
    expect(findClient({ 'user-agent': 'codex_exec/0.171.0', 'session-id': 's2' })).toEqual({
      agent: 'codex',
      session: 's2',
    });
    expect(findClient({ 'user-agent': 'OpenAI/JS 6.49.0', 'session-id': 's3' })).toBeUndefined();
  });
});

const NOWHERE = { created: undefined, sequenceNumber: 0 };

describe('refusals', () => {
  it('have the status that each client sends once and shows', () => {
    const statuses = (kind: RefusalKind) => [REFUSALS.anthropic[kind].status, REFUSALS.openai[kind].status];
    expect(statuses('policy')).toEqual([451, 400]);
    expect(statuses('money')).toEqual([402, 402]);
    for (const dialect of ['anthropic', 'openai'] as const) {
      for (const kind of ['policy', 'money'] as const) {
        const { status, headers } = writeRefusal(dialect, { kind, code: 'c', message: 'm' }, 'q');
        expect([403, 409, 422, 429]).not.toContain(status);
        expect(status).toBeLessThan(500);
        expect(headers['x-should-retry']).toBe('false');
        expect(headers).not.toHaveProperty('retry-after');
      }
    }
  });

  it('have the shape of the dialect', () => {
    const refusal = { kind: 'policy', code: 'agentlens_blocked', message: 'No' } as const;
    expect(JSON.parse(writeRefusal('anthropic', refusal, 'q1').body)).toEqual({
      type: 'error',
      error: { type: 'permission_error', message: 'No' },
      request_id: 'q1',
    });
    expect(JSON.parse(writeRefusal('openai', refusal, 'q1').body)).toEqual({
      error: { message: 'No', type: 'agentlens_policy', param: null, code: 'agentlens_blocked' },
    });
  });

  it('of Responses are 400, which Codex does not send again', () => {
    for (const kind of ['policy', 'money'] as const) {
      expect(writeRefusal('openai', { kind, code: 'c', message: 'm' }, 'q', 'responses').status).toBe(400);
    }
  });

  it('end a stream of Responses as the response that began, with the next number', () => {
    const stop = { kind: 'policy', code: 'agentlens_stopped', message: 'Stop' } as const;
    const progress = { created: { id: 'resp_1', model: 'm', status: 'in_progress' }, sequenceNumber: 7 };
    const [, data = ''] = /data: (.*)/.exec(writeStopFrame('responses', stop, 'q', progress)) ?? [];
    expect(JSON.parse(data)).toEqual({
      type: 'response.failed',
      sequence_number: 8,
      response: { id: 'resp_1', model: 'm', status: 'failed', error: { code: 'invalid_prompt', message: 'Stop' } },
    });
  });

  it('end an open stream with one whole frame', () => {
    const stop = { kind: 'policy', code: 'agentlens_stopped', message: 'Line\nbreak' } as const;
    expect(writeStopFrame('messages', stop, 'q', NOWHERE)).toMatch(
      /^event: error\ndata: .*"invalid_request_error".*\n\n$/,
    );
    expect(writeStopFrame('chat', stop, 'q', NOWHERE)).toMatch(/^data: \{"error":\{.*"agentlens_stopped".*\}\}\n\n$/);
  });
});
