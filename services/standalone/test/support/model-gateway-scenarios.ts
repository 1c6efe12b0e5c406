import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type AnswerScript, writeStreamedAnswer, writeWholeAnswer } from '@agentlens/model-api';
import { beginStream, eventually, SAID, say } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { Client } from './client.ts';
import { describeAnswerRules } from './model-gateway-answers.ts';
import { describeFallback } from './model-gateway-fallback.ts';
import { describeGrowingCalls } from './model-gateway-growth.ts';
import { describeHostileCalls } from './model-gateway-hostile.ts';
import { describeToolCalls } from './model-gateway-tools.ts';
import {
  APIS,
  DIALECTS,
  findPath,
  KEY_HEADERS,
  limitTokens,
  MODEL,
  PATHS,
  REFUSED,
  readText,
  startGatewayWorld,
} from './model-gateway-world.ts';
import type { PlatformUnderTest } from './platform-under-test.ts';

const COMPRESSORS: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: gzipSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};

/** What the model gateway promises, on a whole platform and a fake provider. */
export function describeModelGateway(mode: string, start: () => Promise<PlatformUnderTest>): void {
  describe(`the model gateway, ${mode}`, () => {
    const world = startGatewayWorld(start);
    const { newTenant, call } = world;

    describeGrowingCalls(world);
    describeAnswerRules(world);
    describeFallback(world);
    describeToolCalls(world);
    describeHostileCalls(world);

    describe.each(DIALECTS)('%s', (dialect) => {
      it('forwards a call and its answer, and shows run, agent and cost', async () => {
        const { admin, key } = await newTenant();
        const before = world.provider.requests.length;
        const answer = await call(dialect, key, { headers: { 'x-agentlens-run': `run-${dialect}`, cookie: 'a=b' } });
        expect(answer.status).toBe(200);
        expect(JSON.stringify(await answer.json())).toContain('The answer is 42.');
        expect(answer.headers.get('request-id')).toBe('req-1');
        expect(answer.headers.get('x-agentlens-run')).toBe(`run-${dialect}`);

        const [sent] = world.provider.requests.slice(before);
        const credential = sent?.headers[KEY_HEADERS[dialect]];
        const isBearer = KEY_HEADERS[dialect] === 'authorization';
        expect(credential).toBe(isBearer ? 'Bearer provider-key-openai' : `provider-key-${dialect}`);
        expect(JSON.stringify(sent?.headers)).not.toContain(key);
        expect(Object.keys(sent?.headers ?? {})).not.toContain('cookie');
        expect(Object.keys(sent?.headers ?? {}).filter((name) => name.startsWith('x-agentlens'))).toEqual([]);

        await eventually(async () => {
          const { body } = await admin.get(`/api/runs/run-${dialect}`);
          expect(body).toMatchObject({ agentId: 'bot', totals: { llmCalls: 1, inputTokens: 1_200, outputTokens: 8 } });
          expect(body.totals.costUsd).toBeGreaterThan(0);
        });
        const agent = await admin.get('/api/agents/bot');
        expect(agent.body).toMatchObject({ id: 'bot' });
      });

      it('streams the bytes of the provider', async () => {
        const { key } = await newTenant();
        const direct = await fetch(`${world.provider.url}${findPath(dialect, true).replace(/^\/gw\/[a-z]+/, '')}`, {
          method: 'POST',
          body: JSON.stringify({ model: MODEL[dialect], stream: true }),
        });
        const answer = await call(dialect, key, { body: { stream: true } });
        expect(await answer.text()).toBe(await direct.text());
      });

      it('refuses what a rule blocks, once and in the words of the dialect, without asking the provider', async () => {
        const { admin, key } = await newTenant();
        const rule = await admin.post('/api/guardrails', {
          name: 'No big answers',
          conditionType: 'expression',
          actionType: 'block',
          mode: 'enforce',
          conditionConfig: { expression: 'args.request.maxTokens > 5000' },
          actionConfig: { message: 'Answers are limited' },
          selector: { phases: ['llm.before'] },
        });
        expect({ ...rule.body, status: rule.status }).toMatchObject({ status: 201 });
        const before = world.provider.requests.length;
        const asks = { body: { ...limitTokens(dialect, 6_000) } };
        await eventually(async () => {
          const asked = world.provider.requests.length;
          const refused = await call(dialect, key, asks);
          expect(refused.status).toBe(REFUSED[dialect].policy);
          expect(world.provider.requests.length).toBe(asked);
          expect(refused.headers.get('x-should-retry')).toBe('false');
          const { error } = (await refused.json()) as { error: { message: string } };
          expect(error.message).toContain('Answers are limited');
        });
        expect((await call(dialect, key)).status).toBe(200);
        expect(world.provider.requests.length).toBeGreaterThan(before);
      });

      it('refuses when a budget is spent', async () => {
        const { admin, key } = await newTenant();
        const budget = { name: 'Small', scope: 'agent', scopeId: 'bot', period: 'day', limitUsd: 0.0001 };
        expect((await admin.post('/api/budgets', budget)).status).toBe(201);
        await eventually(async () => {
          const refused = await call(dialect, key);
          expect(refused.status).toBe(REFUSED[dialect].money);
          expect(refused.headers.get('x-should-retry')).toBe('false');
          expect(refused.headers.get('retry-after')).toBeNull();
        });
      });

      it('stops an open stream when its run is killed, and refuses the next call of the run', async () => {
        const { admin, key } = await newTenant();
        world.provider.answer(beginStream(['One ', 'two ', 'three']));
        const left = world.provider.left();
        const headers = { 'x-agentlens-run': 'run-killed' };
        const answer = await call(dialect, key, { body: { stream: true }, headers });
        const reader = readText(answer);
        await reader.until('three');
        const killed = await admin.post('/api/control', {
          scope: 'run',
          scopeId: 'run-killed',
          state: 'killed',
          reason: 'Enough',
        });
        expect(killed.status).toBeLessThan(300);
        const rest = await reader.end();
        expect(rest).toContain('Enough');
        expect(rest).toMatch(/\r?\n\r?\n$/);
        await left;
        const asked = world.provider.requests.length;
        const next = await call(dialect, key, { headers });
        expect(next.status).toBe(REFUSED[dialect].policy);
        expect(world.provider.requests.length).toBe(asked);
      });

      it('hides that the provider rejects the key of the connection, and goes on', async () => {
        const { key } = await newTenant();
        world.provider.answer((_request, response) => {
          response.writeHead(401, { 'content-type': 'application/json' });
          response.end('{"error":{"message":"invalid key provider-key"}}');
        });
        const refused = await call(dialect, key);
        expect(refused.status).toBe(502);
        expect(await refused.text()).not.toContain('provider-key');
        world.provider.answer(say(SAID));
        expect((await call(dialect, key)).status).toBe(200);
      });

      it.each(['gzip', 'br', 'zstd', 'gzip without a header'])(
        'reads an answer that is compressed with %s',
        async (encoding) => {
          const { key } = await newTenant();
          const text = writeWholeAnswer(APIS[dialect], {
            ...SAID,
            model: MODEL[dialect],
          });
          const compressed = COMPRESSORS[encoding] ?? gzipSync;
          world.provider.answer((_request, response) => {
            const header = encoding.includes(' ') ? {} : { 'content-encoding': encoding };
            response.writeHead(200, { 'content-type': 'application/json', ...header });
            response.end(compressed(text));
          });
          const answer = await call(dialect, key);
          expect(answer.headers.get('content-encoding')).toBeNull();
          expect(await answer.text()).toBe(text);
        },
      );

      it('cuts the answer that the provider cuts, and counts it', async () => {
        const { admin, key } = await newTenant();
        const begin = beginStream(['y'.repeat(700)]);
        let cut = (): void => undefined;
        world.provider.answer(async (request, response) => {
          await begin(request, response);
          cut = () => response.destroy();
        });
        const answer = await call(dialect, key, { body: { stream: true }, headers: { 'x-agentlens-run': 'run-cut' } });
        const reader = readText(answer);
        await reader.until('yyy');
        cut();
        await expect(reader.end()).rejects.toThrow();
        await eventually(async () => {
          const { body } = await admin.get('/api/runs/run-cut');
          expect(body.totals.costUsd).toBeGreaterThan(0);
        });
      });

      it('refuses a body that parsers read differently, by the name of the member', async () => {
        const { key } = await newTenant();
        const asked = world.provider.requests.length;
        const answer = await fetch(`${world.platform.addressFor('POST', '/gw/')}${PATHS[dialect]}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: `{"model":"${MODEL[dialect]}","model":"other","messages":[]}`,
        });
        expect(answer.status).toBe(400);
        expect(await answer.text()).toContain('\\"model\\" occurs more than once');
        expect(world.provider.requests.length).toBe(asked);
      });

      it('counts a stream that its client leaves', async () => {
        const { admin, key } = await newTenant();
        world.provider.answer(beginStream(['x'.repeat(700)]));
        const left = world.provider.left();
        const answer = await call(dialect, key, { body: { stream: true }, headers: { 'x-agentlens-run': 'run-left' } });
        const reader = readText(answer);
        await reader.until('xxx');
        await reader.leave();
        await left;
        await eventually(async () => {
          const { body } = await admin.get('/api/runs/run-left');
          expect(body.totals.costUsd).toBeGreaterThan(0);
        });
      });
    });

    it('lets only the agent that got a response continue it, in the same run', async () => {
      const { admin, key } = await newTenant();
      world.provider.answer(say({ ...SAID, id: 'resp_owned' }));
      const first = await call('responses', key);
      await first.arrayBuffer();
      const next = await call('responses', key, { body: { previous_response_id: 'resp_owned' } });
      expect(next.status).toBe(200);
      expect(next.headers.get('x-agentlens-run')).toBe(first.headers.get('x-agentlens-run'));
      const other = await admin.post('/api/keys', { scopes: ['model'], agents: ['other'] });
      for (const [foreign, id] of [
        [other.body.key, 'resp_owned'],
        [key, 'resp_unknown'],
        [key, '../resp_owned'],
      ]) {
        const refused = await call('responses', foreign, { body: { previous_response_id: id } });
        expect(refused.status).toBe(404);
      }
    });

    it('ends the open answers of a key that is revoked', async () => {
      const { admin } = await newTenant();
      const made = await admin.post('/api/keys', { scopes: ['model'], agents: ['bot'] });
      world.provider.answer(beginStream(['One ', 'two']));
      const answer = await call('anthropic', made.body.key, { body: { stream: true } });
      const reader = readText(answer);
      await reader.until('two');
      expect((await admin.delete(`/api/keys/${made.body.id}`)).status).toBe(200);
      expect(await reader.end()).toContain('its API key is revoked');
      expect((await call('anthropic', made.body.key)).status).toBe(401);
    });

    it('gives a conversation that names no run one run, and another conversation another one', async () => {
      const { key } = await newTenant();
      const say = (text: string, ...more: object[]) =>
        call('anthropic', key, { body: { messages: [{ role: 'user', content: text }, ...more] } });
      const runOf = async (answer: Promise<Response>) => (await answer).headers.get('x-agentlens-run');
      const first = await runOf(say('Plan my trip'));
      const grown = [
        { role: 'assistant', content: 'Where to?' },
        { role: 'user', content: 'Rome' },
      ];
      expect(await runOf(say('Plan my trip', ...grown))).toBe(first);
      expect(await runOf(say('Plan my week'))).not.toBe(first);
    });

    it('sends the model that an admin allows, and no other spelling of it', async () => {
      const { admin, key } = await newTenant();
      const limited = {
        dialect: 'anthropic',
        baseUrl: world.provider.url,
        models: ['claude-haiku-*', 'claude-sonnet-5'],
      };
      expect((await admin.put('/api/model-connections/limited', { ...limited, credential: 'k' })).status).toBe(200);
      const path = '/gw/limited/v1/messages';
      expect((await call('anthropic', key, { path })).status).toBe(200);
      expect((await call('anthropic', key, { path, body: { model: 'claude-haiku-9' } })).status).toBe(200);
      const asked = world.provider.requests.length;
      for (const model of ['claude-opus-9', 'CLAUDE-SONNET-5', 'claude-sonnet-5 ', 'claude-sonnet-5\u200b']) {
        expect((await call('anthropic', key, { path, body: { model } })).status).toBe(400);
      }
      expect(world.provider.requests.length).toBe(asked);
      const models = await fetch(`${world.platform.addressFor('GET', '/gw/')}/gw/limited/v1/models`, {
        headers: { 'x-api-key': key },
      });
      expect(await models.json()).toMatchObject({ data: [{ id: 'claude-sonnet-5' }] });
    });

    it('refuses calls of a disabled connection, which keeps its key', async () => {
      const { admin, key } = await newTenant();
      const connection = { dialect: 'anthropic', baseUrl: world.provider.url };
      const disabled = await admin.put('/api/model-connections/anthropic', { ...connection, enabled: false });
      expect(disabled.body).toMatchObject({ enabled: false, credential: { fingerprint: expect.any(String) } });
      await eventually(async () => {
        const refused = await call('anthropic', key);
        expect(refused.status).toBe(451);
        expect(await refused.text()).toContain('is disabled');
      });
      expect((await admin.put('/api/model-connections/anthropic', connection)).body).toMatchObject({ enabled: true });
      await eventually(async () => expect((await call('anthropic', key)).status).toBe(200));
    });

    it('counts tokens for free', async () => {
      const { admin, key } = await newTenant();
      world.provider.answer((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end('{"input_tokens":5}');
      });
      const counted = await call('anthropic', key, { path: '/gw/anthropic/v1/messages/count_tokens' });
      expect(await counted.json()).toEqual({ input_tokens: 5 });
      expect((await admin.get('/api/decisions?agentId=bot')).body.decisions).toEqual([]);
    });

    it('reads compressed requests, up to their limit', async () => {
      const { key } = await newTenant();
      const send = (body: Buffer, encoding: string) =>
        fetch(`${world.platform.addressFor('POST', '/gw/')}${PATHS.anthropic}`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json', 'content-encoding': encoding },
          body: new Uint8Array(body),
        });
      const text = JSON.stringify({
        model: MODEL.anthropic,
        max_tokens: 5,
        messages: [{ role: 'user', content: 'hi' }],
      });
      for (const [encoding, compress] of Object.entries(COMPRESSORS)) {
        expect((await send(compress(text), encoding)).status).toBe(200);
        expect(world.provider.requests.at(-1)?.body.toString()).toBe(text);
      }
      expect((await send(gzipSync('['.repeat(40_000_000)), 'gzip')).status).toBe(413);
      expect((await send(Buffer.from('{}'), 'gzip')).status).toBe(400);
      expect((await send(Buffer.from('{}'), 'compress')).status).toBe(400);
    });

    it('refuses a body over 32 MiB before it is sent', async () => {
      const { key } = await newTenant();
      const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': String(2 ** 25 + 1) };
      const answer = await sendRaw(world.platform.addressFor('POST', '/gw/'), {
        ...{ method: 'POST', path: PATHS.anthropic, headers, body: '{' },
      });
      expect(answer).toMatchObject({ status: 413, body: expect.stringContaining('32 MiB') });
    });

    it('passes on and counts a stream of Gemini that is one list, and decides its tool calls', async () => {
      const { admin, key } = await newTenant();
      const list = (tools: AnswerScript['tools'] = []) => {
        const frames = writeStreamedAnswer('generate', { ...SAID, model: MODEL.gemini, tools }, true);
        return `[${frames.map((frame) => frame.slice('data: '.length).trim()).join(',\r\n')}]`;
      };
      const path = PATHS.gemini.replace(':generateContent', ':streamGenerateContent');
      const answerWith = (text: string) =>
        world.provider.answer((_request, response) => {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.write(text.slice(0, 20));
          response.end(text.slice(20));
        });
      answerWith(list());
      const headers = { 'x-agentlens-run': 'run-list' };
      expect(await (await call('gemini', key, { path, headers })).text()).toBe(list());
      await eventually(async () => {
        const { body } = await admin.get('/api/runs/run-list');
        expect(body).toMatchObject({ totals: { llmCalls: 1, inputTokens: 1_200, outputTokens: 8 } });
      });
      const rule = {
        ...{ name: 'No pay', conditionType: 'tool_name', conditionConfig: { value: 'pay' }, mode: 'enforce' },
        ...{ actionType: 'block', actionConfig: {}, selector: { phases: ['tool.before'], tools: ['pay'] } },
      };
      expect((await admin.post('/api/guardrails', rule)).status).toBe(201);
      answerWith(list([{ id: 'call-1', name: 'pay', args: { secret: 1 } }]));
      const body = { tools: [{ functionDeclarations: [{ name: 'pay' }] }] };
      await eventually(async () => {
        const text = await (await call('gemini', key, { path, body })).text();
        expect(text).toContain('Tool pay was blocked');
        expect(text).not.toContain('secret');
      });
    });

    it.each([
      ['a path that leads elsewhere', 400, { path: '/gw/anthropic/v1/x/../messages' }],
      ['an encoded slash', 400, { path: '/gw/anthropic/v1%2fmessages' }],
      ['an empty segment', 400, { path: '/gw/anthropic//v1/messages' }],
      ['a path that is not served', 404, { path: '/gw/anthropic/v1/files' }],
      ['a method that is not served', 404, { method: 'DELETE' }],
      ['two different keys', 400, { headers: { authorization: 'Bearer agk_live_other' } }],
      ['a web page', 403, { headers: { origin: 'https://evil.example' } }],
      ['a websocket', 426, { method: 'GET', headers: { connection: 'Upgrade', upgrade: 'websocket' } }],
    ])('refuses %s with %i', async (_what, status, odd: RawRequest) => {
      const { key } = await newTenant();
      const asked = world.provider.requests.length;
      const answer = await sendRaw(world.platform.addressFor('POST', '/gw/'), {
        method: 'POST',
        path: PATHS.anthropic,
        ...odd,
        headers: { 'x-api-key': key, 'content-type': 'application/json', ...odd.headers },
      });
      expect(answer).toMatchObject({ status, body: expect.stringContaining('"type":"error"') });
      expect(answer.body).not.toContain(key);
      expect(world.provider.requests.length).toBe(asked);
    });

    it('hides the key of a connection and keeps it for its address', async () => {
      const { admin, key } = await newTenant();
      const { body } = await admin.get('/api/model-connections');
      expect(JSON.stringify(body)).not.toContain('provider-key');
      expect(body.connections[0]).toMatchObject({ name: 'anthropic', credential: { fingerprint: expect.any(String) } });
      const moved = await admin.put('/api/model-connections/anthropic', {
        dialect: 'anthropic',
        baseUrl: 'https://evil.example',
      });
      expect(moved.status).toBe(400);
      const foreign = await new Client(world.platform, key).get('/api/model-connections');
      expect(foreign.status).toBe(403);
    });

    it('answers a key without the scope, a foreign agent and an unknown connection in the shape of the dialect', async () => {
      const { admin, key } = await newTenant();
      const reader = await admin.post('/api/keys', { scopes: ['read'] });
      expect((await call('anthropic', reader.body.key)).status).toBe(403);
      expect((await call('anthropic', 'agk_live_wrong')).status).toBe(401);
      expect((await call('anthropic', key, { path: '/gw/anthropic/agent/other/v1/messages' })).status).toBe(403);
      const unknown = await call('openai', key, { path: '/gw/nothing/v1/chat/completions' });
      expect(unknown.status).toBe(404);
      expect(await unknown.json()).toMatchObject({
        error: { message: expect.stringContaining('no model connection') },
      });
    });
  });
}

interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends what `fetch` would correct. */
async function sendRaw(address: string, { method, path, headers, body: sent = '{}' }: RawRequest) {
  const { hostname, port } = new URL(address);
  const outgoing = request({ hostname, port, method, path, headers, agent: false });
  // The body may be shorter than its head says.
  outgoing.on('error', () => undefined);
  if (headers?.['content-length'] === undefined) outgoing.end(method === 'POST' ? sent : undefined);
  else outgoing.write(sent);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of answer) body += String(chunk);
  return { status: answer.statusCode, body };
}
