import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { OtlpIngestor } from '../src/otlp/otlp-ingestor.ts';
import { type Answer, type Gateway, hangingConsumer, startGateway } from './gateway.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const RECORDINGS = new URL('../../../libs/otlp/src/recordings/', import.meta.url);

/** What an agent sent to `/v1/traces`, in the binary form. */
function recorded(agent: string): Buffer {
  const { requests } = JSON.parse(readFileSync(new URL(`${agent}.json`, RECORDINGS), 'utf8')) as {
    requests: { path: string; protobuf?: string }[];
  };
  return Buffer.from(requests.find(({ path }) => path === '/v1/traces')?.protobuf ?? '', 'base64');
}

type Attribute = readonly [key: string, value: string | number];

/** A span that ended at the gateway's time. */
function span(spanId: string, attributes: readonly Attribute[], fields: object = {}): object {
  return {
    traceId: TRACE,
    spanId: spanId.padStart(16, '0'),
    name: 'span',
    startTimeUnixNano: '1772366399000000000',
    endTimeUnixNano: '1772366400000000000',
    attributes: attributes.map(([key, value]) => ({
      key,
      value: typeof value === 'number' ? { intValue: value } : { stringValue: value },
    })),
    ...fields,
  };
}

const request = (...spans: readonly object[]) => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
      scopeSpans: [{ scope: { name: 'test' }, spans }],
    },
  ],
});

const modelCall = (
  spanId: string,
  more: readonly Attribute[] = [],
  fields: object = { parentSpanId: '00000000000000ff' },
) =>
  span(
    spanId,
    [
      ['gen_ai.operation.name', 'chat'],
      ['gen_ai.request.model', 'gpt-4o'],
      ['gen_ai.usage.input_tokens', 1000],
      ['gen_ai.usage.output_tokens', 500],
      ...more,
    ],
    fields,
  );

describe('POST /v1/traces', () => {
  let gateway: Gateway;
  beforeEach(async () => {
    gateway = await startGateway();
  });
  afterEach(() => gateway.close());

  interface Sent {
    readonly path?: string;
    readonly headers?: Record<string, string>;
    readonly key?: string;
  }

  function send(
    body: unknown,
    { path = '/v1/traces', headers = {}, key = gateway.keys.ingest }: Sent = {},
  ): Promise<Answer> {
    return gateway.inject({
      method: 'POST',
      url: path,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      payload: Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  /** Sends and receives bytes. */
  async function sendProtobuf(body: Buffer, headers: Record<string, string> = {}) {
    return gateway.app.inject({
      method: 'POST',
      url: '/v1/traces',
      headers: {
        authorization: `Bearer ${gateway.keys.ingest}`,
        'content-type': 'application/x-protobuf',
        ...headers,
      },
      payload: body,
    });
  }

  const kinds = () =>
    gateway
      .events()
      .map(({ kind }) => kind)
      .sort();

  it('accepts binary data of a real exporter, compressed or not, with an empty answer', async () => {
    const body = recorded('pydantic-ai');
    for (const [sent, headers] of [
      [body, {}],
      [gzipSync(body), { 'content-encoding': 'gzip' }],
    ] as const) {
      const answer = await sendProtobuf(sent, headers);
      expect(answer).toMatchObject({ statusCode: 200, body: '' });
      expect(answer.headers['content-type']).toBe('application/x-protobuf');
    }
    const ids = new Set(gateway.events().map(({ id }) => id));
    expect(gateway.events().filter(({ kind }) => kind === 'llm.completed')).toHaveLength(10);
    expect(gateway.events()).toHaveLength(ids.size * 2);
  });

  it('makes a run from a trace: calls, tools, start and end, in order', async () => {
    const root = span('ff', [
      ['gen_ai.operation.name', 'invoke_agent'],
      ['gen_ai.agent.name', 'shopper'],
    ]);
    const tool = span(
      '2',
      [
        ['gen_ai.operation.name', 'execute_tool'],
        ['gen_ai.tool.name', 'search'],
      ],
      {
        parentSpanId: '00000000000000ff',
      },
    );
    expect(await send(request(modelCall('1'), tool, root))).toMatchObject({ status: 200, body: {} });
    expect(kinds()).toEqual(['llm.completed', 'run.ended', 'run.started', 'tool.completed']);
    for (const event of gateway.events())
      expect(event).toMatchObject({ runId: TRACE, agentId: 'shop', dialect: 'otlp' });
    expect(gateway.events().find(({ kind }) => kind === 'llm.completed')?.usage).toMatchObject({
      inputTokens: 1000,
      costUsd: 0.0075,
      costSource: 'priced',
    });
  });

  it('names the agent from the header, unless the resource names one', async () => {
    await send(request(modelCall('1')), { headers: { 'x-agentlens-agent': 'buyer' } });
    expect(gateway.events()[0]?.agentId).toBe('buyer');
  });

  it('dates a span of a wrong clock with its arrival, and keeps the original time', async () => {
    const early = modelCall('1', [], { startTimeUnixNano: '1000000', endTimeUnixNano: '2000000' });
    expect((await send(request(early))).status).toBe(200);
    expect(gateway.events()[0]).toMatchObject({
      occurredAt: '2026-03-01T12:00:00.000Z',
      metadata: { clientTime: '1970-01-01T00:00:00.002Z' },
    });
  });

  it('counts a model call once that two instrumentations report, even in different requests', async () => {
    const twice = (spanId: string) => modelCall(spanId, [['gen_ai.response.id', 'chatcmpl-1']]);
    await send(request(twice('1'), twice('2')));
    await send(request(twice('3')));
    await send(request(twice('1')));
    const counted = gateway.events().filter(({ kind }) => kind === 'llm.completed');
    expect(new Set(counted.map(({ callId }) => callId))).toEqual(new Set(['0000000000000001']));
    const others = gateway.events().filter(({ sourceType }) => sourceType === 'duplicate_model_call');
    expect(others.map(({ usage }) => usage)).toEqual([{ latencyMs: 1_000 }, { latencyMs: 1_000 }]);
    expect(others[1]?.payload).toMatchObject({ countedAs: { traceId: TRACE, scope: 'test' } });
  });

  it('counts calls of different agents and traces whose models returned equal ids', async () => {
    const call = (fields: object) => modelCall('1', [['gen_ai.response.id', 'chatcmpl-1']], fields);
    await send(request(call({})));
    await send(request(call({ traceId: TRACE.replace('0a', '1b') })), { headers: { 'x-agentlens-agent': 'other' } });
    await send(request(call({ spanId: '0000000000000002' })), { headers: { 'x-agentlens-agent': 'other' } });
    expect(gateway.events().filter(({ kind }) => kind === 'llm.completed')).toHaveLength(3);
  });

  it('counts a model call once that two instrumentations report as roots of their own traces', async () => {
    const another = TRACE.replace('0a', '1b');
    const scoped = (body: ReturnType<typeof request>, name: string) => {
      const text = JSON.stringify(body).replaceAll('"name":"test"', `"name":"${name}"`);
      return send(JSON.parse(text));
    };
    await scoped(request(modelCall('1', [], {})), 'client');
    await scoped(request(modelCall('2', [], { traceId: another })), 'framework');
    await scoped(request(modelCall('3', [], { traceId: another.replace('1b', '2c') })), 'client');
    const kinds = gateway.events().filter(({ sourceType }) => /llm_response|duplicate/.test(sourceType));
    expect(kinds.map(({ sourceType }) => sourceType)).toEqual(['llm_response', 'duplicate_model_call', 'llm_response']);
  });

  it('counts a model call once if spans of frameworks are around the span of its client', async () => {
    await send(request(modelCall('1', [['gen_ai.response.id', 'r']], { parentSpanId: '0000000000000002' })));
    await send(request(modelCall('2', [], { parentSpanId: '0000000000000003' })));
    await send(request(modelCall('3', [['gen_ai.usage.input_tokens', 7]])));
    expect(gateway.events().filter(({ kind }) => kind === 'llm.completed')).toHaveLength(1);
  });

  it('lets a root without an agent close a run known from an earlier request, and no other trace', async () => {
    await send(request(modelCall('1')));
    await send(request(span('ff', []), span('ee', [], { traceId: TRACE.replace('0a', '1b') })));
    expect(kinds()).toEqual(['llm.completed', 'run.ended', 'run.started']);
  });

  it('makes no run from a trace without model calls', async () => {
    expect(await send(request(span('1', [['http.request.method', 'GET']])))).toMatchObject({ status: 200, body: {} });
    expect(gateway.events()).toEqual([]);
  });

  it('accepts the valid spans and reports how many were rejected, and why', async () => {
    const { status, body } = await send(
      request(modelCall('1'), modelCall('2', [], { traceId: 'short' }), modelCall('3')),
    );
    expect(status).toBe(200);
    expect(body.partialSuccess).toEqual({
      rejectedSpans: '1',
      errorMessage: expect.stringMatching(/^1 not taken; the first because a span has no valid trace id/),
    });
    expect(gateway.events()).toHaveLength(2);
  });

  it('truncates and marks a span with huge contents', async () => {
    const huge = modelCall('1', [
      ['gen_ai.input.messages', JSON.stringify([{ role: 'user', content: 'x'.repeat(400_000) }])],
    ]);
    expect((await send(request(huge))).body).toEqual({});
    expect(gateway.events()[0]?.metadata).toMatchObject({ otlp: { mended: ['cut: a text had 400000 characters'] } });
  });

  it('accepts more spans than one request of events may hold', async () => {
    const spans = Array.from({ length: 2_500 }, (_, n) => modelCall((n + 1).toString(16)));
    expect((await send(request(...spans))).status).toBe(200);
    expect(gateway.events()).toHaveLength(2_500);
  });

  it.each([
    ['bytes that are not protobuf', Buffer.from('garbage'), { 'content-type': 'application/x-protobuf' }, 400],
    ['text that is not JSON', '{"resourceSpans":', {}, 400],
    ['a body that is not gzip', '{}', { 'content-encoding': 'gzip' }, 400],
    ['another content type', '{}', { 'content-type': 'text/plain' }, 415],
    ['another encoding', '{}', { 'content-encoding': 'zstd' }, 415],
  ])('rejects %s with a Status', async (_, payload, headers, status) => {
    const answer = await gateway.app.inject({
      method: 'POST',
      url: '/v1/traces',
      headers: { authorization: `Bearer ${gateway.keys.ingest}`, 'content-type': 'application/json', ...headers },
      payload,
    });
    expect(answer.statusCode).toBe(status);
    if (answer.headers['content-type'] === 'application/x-protobuf') {
      // Field 1 is the code 3 (INVALID_ARGUMENT), field 2 the message.
      expect([...answer.rawPayload.subarray(0, 3)]).toEqual([8, 3, 18]);
    } else expect(answer.json()).toEqual({ code: 3, message: expect.any(String) });
  });

  it('answers any bytes with 200 or 400, in every format and encoding', async () => {
    const paths = fc.constantFrom('/v1/traces', '/v1/logs', '/v1/metrics');
    const types = fc.constantFrom('application/x-protobuf', 'application/json');
    const encodings = fc.constantFrom('gzip', 'identity');
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.json().map((json) => Buffer.from(json)),
    );
    await fc.assert(
      fc.asyncProperty(paths, types, encodings, bodies, fc.boolean(), async (url, type, encoding, body, isWhole) => {
        const { statusCode } = await gateway.app.inject({
          method: 'POST',
          url,
          headers: {
            authorization: `Bearer ${gateway.keys.ingest}`,
            'content-type': type,
            'content-encoding': encoding,
          },
          payload: encoding === 'gzip' && isWhole ? gzipSync(body) : Buffer.from(body),
        });
        expect([200, 400]).toContain(statusCode);
      }),
      { numRuns: 200 },
    );
  });

  it('rejects a body that inflates beyond the limit, without inflating all of it', async () => {
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(200_000);
    const answer = await send(bomb, { headers: { 'content-encoding': 'gzip' } });
    expect(answer).toMatchObject({ status: 413, body: { code: 8 } });
  });

  it('checks the key before it reads the body', async () => {
    const { status, body } = await send('no JSON', { key: gateway.keys.revoked });
    expect({ status, body }).toEqual({ status: 401, body: { code: 16, message: expect.stringMatching(/revoked/) } });
    expect(await send('{}', { key: gateway.keys.reader })).toMatchObject({ status: 403, body: { code: 7 } });
  });

  it('accepts the key as x-api-key if there is no authorization header', async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': gateway.keys.ingest };
    const bare = { method: 'POST', url: '/v1/traces', payload: JSON.stringify(request(modelCall('1'))) } as const;
    expect((await gateway.inject({ ...bare, headers })).status).toBe(200);
    expect((await gateway.inject({ ...bare, headers: { ...headers, authorization: 'Bearer x' } })).status).toBe(401);
    expect((await gateway.inject({ ...bare, url: '/api/events', headers })).status).toBe(401);
  });

  it('keeps tenants apart', async () => {
    await send(request(modelCall('1')), { key: gateway.keys.foreign });
    expect(gateway.batches.map(({ tenantId }) => tenantId)).toEqual(['globex']);
  });

  it('asks an exporter over its quota to wait no longer than it would', async () => {
    const spans = Array.from({ length: 100 }, (_, n) => modelCall((n + 1).toString(16)));
    const slow = { key: gateway.keys.slow };
    expect((await send(request(...spans), slow)).status).toBe(200);
    const answer = await send(request(modelCall('1')), slow);
    expect(answer).toMatchObject({ status: 429, body: { code: 8 }, headers: { 'retry-after': '3' } });
  });

  it('accepts logs for their evaluations, and ignores metrics', async () => {
    const record = (eventName: string) => ({
      eventName,
      traceId: TRACE,
      timeUnixNano: '1772366400000000000',
      attributes: [{ key: 'gen_ai.evaluation.name', value: { stringValue: 'relevance' } }],
    });
    const logs = {
      resourceLogs: [
        { scopeLogs: [{ logRecords: [record('gen_ai.evaluation.result'), record('gen_ai.user.message')] }] },
      ],
    };
    expect(await send(logs, { path: '/v1/logs' })).toMatchObject({ status: 200, body: {} });
    expect(await send('not even JSON', { path: '/v1/metrics' })).toMatchObject({ status: 200, body: {} });
    expect(gateway.events()).toMatchObject([
      { sourceType: 'evaluation', runId: TRACE, payload: { name: 'relevance' } },
    ]);
  });

  it('answers no browser unless its origin is allowed', async () => {
    const preflight = await gateway.app.inject({
      method: 'OPTIONS',
      url: '/v1/traces',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.statusCode).toBeGreaterThanOrEqual(400);
    expect(preflight.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('a gateway that allows an origin', () => {
  it('answers its preflight, and no other', async () => {
    const gateway = await startGateway({ env: { AGENTLENS_OTLP_CORS_ORIGINS: 'https://app.example' } });
    const preflight = (origin: string) =>
      gateway.app.inject({ method: 'OPTIONS', url: '/v1/traces', headers: { origin } });
    expect((await preflight('https://app.example')).headers['access-control-allow-origin']).toBe('https://app.example');
    expect((await preflight('https://evil.example')).headers['access-control-allow-origin']).toBeUndefined();
    await gateway.close();
  });
});

describe('a gateway that cannot take spans', () => {
  const post = (gateway: Gateway) =>
    gateway.inject({
      method: 'POST',
      url: '/v1/traces',
      headers: { authorization: `Bearer ${gateway.keys.ingest}`, 'content-type': 'application/json' },
      payload: JSON.stringify(request(modelCall('1'))),
    });

  it('returns 503 with Retry-After while its stream is full, and accepts the same request later', async () => {
    const gateway = await startGateway({ bus: { publishDeadlineMs: 20 } });
    const consumer = await hangingConsumer(gateway.bus);
    const answer = await post(gateway);
    expect(answer).toMatchObject({ status: 503, body: { code: 14 } });
    expect(['1', '2', '3']).toContain(answer.headers['retry-after']);
    consumer.release();
    expect((await post(gateway)).status).toBe(200);
    expect(new Set(gateway.events().map(({ id }) => id)).size).toBe(1);
    await gateway.close();
  });

  it('returns 503 for unexpected errors, because exporters drop a batch on 500', async () => {
    const gateway = await startGateway();
    jest
      .spyOn(gateway.app.get(OtlpIngestor), 'takeTraces')
      .mockRejectedValueOnce(new TypeError('detail of the inside'));
    const answer = await post(gateway);
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' }, body: { code: 14 } });
    expect(JSON.stringify(answer.body)).not.toContain('detail of the inside');
    expect((await post(gateway)).status).toBe(200);
    await gateway.close();
  });
});
