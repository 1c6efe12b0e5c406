import { brotliCompressSync } from 'node:zlib';
import { beginStream, eventually, type ProviderAnswer, SAID, say } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { makeBudget } from './loaded-settings.ts';
import { type GatewayWorld, question, REFUSED, readText } from './model-gateway-world.ts';

const TOOL = { type: 'function', function: { name: 'send_money', parameters: {} } };
const CALLED = { id: 'call-1', name: 'send_money', args: { amount: 7 } };
/** A budget of the agent "bot" with room for everything. */
const BUDGET = { name: 'Day', scope: 'agent', scopeId: 'bot', period: 'day', limitUsd: 100 };

/** Requests and answers that try to pass what the gateway decides and counts. */
export function describeHostileCalls(world: GatewayWorld): void {
  const { newTenant, call } = world;

  /** A tenant whose agents may not send money. */
  const denied = async () => {
    const tenant = await newTenant();
    const created = await tenant.admin.post('/api/guardrails', {
      ...{ mode: 'enforce', name: 'No money', conditionType: 'tool_name', actionType: 'block' },
      ...{ conditionConfig: { value: 'send_money' }, actionConfig: { message: 'Not today' } },
      selector: { phases: ['tool.before'], tools: ['send_money'] },
    });
    expect({ ...created.body, status: created.status }).toMatchObject({ status: 201 });
    world.provider.answer(say({ ...SAID, tools: [CALLED] }));
    await eventually(async () => {
      const text = await (await call('openai', tenant.key, { body: { tools: [TOOL] } })).text();
      expect(text).toContain('Tool send_money was blocked');
    });
    return tenant;
  };

  describe('a hostile call', () => {
    it('is answered and counted if its run has a name that no header can carry', async () => {
      const { admin, key } = await newTenant();
      const budgetId = await makeBudget(world.platform, admin, BUDGET);
      const run = 'ラン-😀';
      const answer = await call('openai', key, {
        path: `/gw/openai/run/${encodeURIComponent(run)}/v1/chat/completions`,
      });
      expect(answer.status).toBe(200);
      expect(decodeURIComponent(answer.headers.get('x-agentlens-run') ?? '')).toBe(run);
      await eventually(async () => {
        const [pot] = (await admin.get(`/api/budgets/${budgetId}`)).body.pots;
        expect(pot).toMatchObject({ reservedUsd: 0 });
        expect(pot.spentUsd).toBeGreaterThan(0);
      });
    });

    it('is not sent if what rules and budgets read of it is too large for them', async () => {
      const { admin, key } = await newTenant();
      await makeBudget(world.platform, admin, { ...BUDGET, limitUsd: 0.0001 });
      expect((await call('openai', key)).status).toBe(REFUSED.openai.money);
      const asked = world.provider.requests.length;
      // The estimate takes a long word for an image.
      const large = { type: 'function', function: { name: 'x'.repeat(9_000_000), parameters: {} } };
      const refused = await call('openai', key, { body: { tools: [large] } });
      expect([refused.status, world.provider.requests.length]).toEqual([400, asked]);
      expect(await refused.text()).toContain('\\"tools\\" must have names');
    });

    it.each([
      ['NaN', (text: string) => text.replace('{', '{"score":NaN,')],
      ['a byte order mark', (text: string) => `\ufeff${text}`],
    ])('gets no tool call that only some parsers can read: %s', async (_what, spoil) => {
      const { key } = await denied();
      world.provider.answer((request, response) => {
        const written = response.end.bind(response);
        response.end = ((text: string) => written(spoil(text))) as typeof response.end;
        return say({ ...SAID, tools: [CALLED] })(request, response);
      });
      const answer = await call('openai', key, { body: { tools: [TOOL] } });
      expect(answer.status).toBe(400);
      expect(await answer.text()).toContain('it is not valid JSON');
      const spoiled = `data: {"score":NaN,"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a"}]}}]}\n\n`;
      world.provider.answer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`${spoiled}data: [DONE]\n\n`);
      });
      const stream = await (await call('openai', key, { body: { tools: [TOOL], stream: true } })).text();
      expect(stream).toContain('it is not valid JSON');
      expect(stream).not.toContain('NaN');
    });

    it.each(['', 'text/plain', 'Text/Event-Stream'])('gets no tool call in a stream of the type "%s"', async (type) => {
      const { key } = await denied();
      world.provider.answer((request, response) => {
        const writeHead = response.writeHead.bind(response);
        response.writeHead = ((status: number) =>
          writeHead(status, type === '' ? {} : { 'content-type': type })) as typeof response.writeHead;
        return say({ ...SAID, tools: [CALLED] })(request, response);
      });
      const text = await (await call('openai', key, { body: { tools: [TOOL], stream: true } })).text();
      expect(text).toContain('Tool send_money was blocked: Not today. Decision ');
      expect(text).not.toContain('amount');
    });

    it.each([
      ['very long', 'x'.repeat(3_000)],
      ['not printable', 'a\u0000b'],
    ])('gets no tool call whose id is %s', async (_what, id) => {
      const { key } = await denied();
      world.provider.answer(say({ ...SAID, tools: [{ ...CALLED, id }] }));
      for (const stream of [true, false]) {
        const text = await (await call('openai', key, { body: { tools: [TOOL], stream } })).text();
        expect(text).toContain('Tool send_money was blocked: Not today. Decision ');
      }
    });

    it.each([302, 204])('costs nothing if the provider answers %s', async (status) => {
      const { admin, key } = await newTenant();
      const budgetId = await makeBudget(world.platform, admin, BUDGET);
      world.provider.answer((_request, response) => {
        response.writeHead(status, { location: 'http://elsewhere.example/' });
        response.end();
      });
      const answer = await call('openai', key);
      expect([answer.status, answer.headers.get('location')]).toEqual([502, null]);
      await eventually(async () => {
        const [pot] = (await admin.get(`/api/budgets/${budgetId}`)).body.pots;
        expect(pot).toMatchObject({ reservedUsd: 0, spentUsd: 0 });
      });
    });

    it('ends if an ancestor of its run is killed', async () => {
      const { admin, key } = await newTenant();
      const ingest = (await admin.post('/api/keys', { scopes: ['ingest', 'decide'] })).body.key as string;
      const start = (runId: string, fields: object) =>
        fetch(`${world.platform.addressFor('POST', '/v1/')}/v1/runs/${runId}/start`, {
          method: 'POST',
          headers: { authorization: `Bearer ${ingest}`, 'content-type': 'application/json' },
          body: JSON.stringify(fields),
        });
      expect((await start('run-parent', { agentId: 'boss' })).status).toBe(200);
      expect((await start('run-child', { agentId: 'bot', parentRunId: 'run-parent' })).status).toBe(200);
      world.provider.answer(beginStream(['One ', 'two ', 'three']));
      const left = world.provider.left();
      const headers = { 'x-agentlens-run': 'run-child' };
      const reader = readText(await call('openai', key, { body: { stream: true }, headers }));
      await reader.until('three');
      const order = { scope: 'run', scopeId: 'run-parent', state: 'killed', reason: 'Enough' };
      expect((await admin.post('/api/control', order)).status).toBeLessThan(300);
      expect(await reader.end()).toContain('Enough');
      await left;
    });

    it('is priced by the tier that answered it', async () => {
      const { admin, key } = await newTenant();
      const costOf = async (tier: string) => {
        world.provider.answer((request, response) => {
          const end = response.end.bind(response);
          response.end = ((text: string) =>
            end(text.replace('"service_tier":"default"', `"service_tier":"${tier}"`))) as typeof response.end;
          return say(SAID)(request, response);
        });
        const headers = { 'x-agentlens-run': `run-${tier}` };
        expect((await call('openai', key, { headers })).status).toBe(200);
        return eventually(async () => {
          const { totals } = (await admin.get(`/api/runs/run-${tier}`)).body;
          expect(totals.costUsd).toBeGreaterThan(0);
          return totals.costUsd as number;
        });
      };
      expect((await costOf('priority')) / (await costOf('default'))).toBeCloseTo(1.75);
    });

    it.each(['gpt-4.1\u0000', 'gpt-4.1\ud800'])('is refused for a model that cannot be recorded: %j', async (model) => {
      const { key } = await newTenant();
      const asked = world.provider.requests.length;
      expect((await call('openai', key, { body: { model } })).status).toBe(400);
      expect(world.provider.requests.length).toBe(asked);
    });

    it.each([
      ['anthropic', '/gw/anthropic/v1/messages/count_tokens', 401],
      ['gemini', '/gw/gemini/v1beta/models/gemini-2.5-flash:countTokens', 400],
      ['gemini', '/gw/gemini/v1beta/models/gemini-2.5-flash:generateContent', 400],
    ] as const)('never sees that %s rejects the key of the connection: %s', async (dialect, path, status) => {
      const { key } = await newTenant();
      world.provider.answer((_request, response) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end('{"error":{"message":"wrong provider-key","details":[{"reason":"API_KEY_INVALID"}]}}');
      });
      const refused = await call(dialect, key, { path });
      expect(refused.status).toBe(502);
      expect(await refused.text()).not.toContain('provider-key');
    });

    it('counts no tokens for an agent that is killed', async () => {
      const { admin, key } = await newTenant();
      const path = '/gw/anthropic/v1/messages/count_tokens';
      expect((await call('anthropic', key, { path })).status).toBe(200);
      const order = { scope: 'agent', scopeId: 'bot', state: 'killed', reason: 'Enough' };
      expect((await admin.post('/api/control', order)).status).toBeLessThan(300);
      const asked = world.provider.requests.length;
      const refused = await call('anthropic', key, { path });
      expect([refused.status, world.provider.requests.length]).toEqual([451, asked]);
    });

    it.each([
      [200, 100_000],
      [413, 33 * 1024 * 1024],
    ])('gets %s for a body of undeclared size with %s bytes', async (status, bytes) => {
      const { key } = await newTenant();
      const said = JSON.stringify({ ...question('openai'), user: 'x '.repeat(bytes / 2) });
      const chunks = Array.from({ length: Math.ceil(said.length / 65_536) }, (_, at) =>
        Buffer.from(said.slice(at * 65_536, (at + 1) * 65_536)),
      );
      const answer = await fetch(`${world.platform.addressFor('POST', '/gw/')}/gw/openai/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: ReadableStream.from(chunks),
        duplex: 'half',
      });
      expect(answer.status).toBe(status);
    });

    it.each([
      ['closes without an answer', (_request, response) => void response.destroy()],
      [
        'closes inside a whole answer',
        (_request, response) => {
          response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
          response.write('{"id":', () => response.destroy());
        },
      ],
      [
        'closes inside a stream',
        (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write('data: {"id":"a","choices":[{"delta":{"content":"x"}}]}\n\n', () => response.destroy());
        },
      ],
      [
        'cuts a compressed answer',
        (_request, response) => {
          response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br' });
          response.end(brotliCompressSync('{"id":"a"}').subarray(0, 6));
        },
      ],
      [
        'sends 70 kB of headers',
        (_request, response) => {
          response.writeHead(200, { 'x-long': 'x'.repeat(70_000) });
          response.end('{}');
        },
      ],
      [
        'sends early hints and trailers',
        (_request, response) => {
          response.writeEarlyHints({ link: '</a>; rel=preload' });
          response.writeHead(200, { 'content-type': 'application/json', trailer: 'x-sum' });
          response.write('{"id":"a","usage":{"prompt_tokens":5,"completion_tokens":1}}');
          response.addTrailers({ 'x-sum': '1' });
          response.end();
        },
      ],
      [
        'sends nothing',
        (_request, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
      ],
    ] satisfies [string, ProviderAnswer][])(
      'leaves no reservation behind if the provider %s',
      async (_what, answer) => {
        const { admin, key } = await newTenant();
        const budgetId = await makeBudget(world.platform, admin, BUDGET);
        world.provider.answer(answer);
        for (const stream of [true, false]) {
          await call('openai', key, { body: { stream } })
            .then((got) => got.text())
            .catch(() => undefined);
        }
        await eventually(async () => {
          const { body } = await admin.get('/api/model-calls?agentId=bot');
          expect(body.calls).toHaveLength(2);
          expect((await admin.get(`/api/budgets/${budgetId}`)).body.pots).toMatchObject([{ reservedUsd: 0 }]);
        });
      },
    );
  });
}
