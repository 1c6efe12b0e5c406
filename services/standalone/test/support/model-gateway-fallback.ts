import { eventually, type FakeProvider, SAID, say, startFakeProvider } from '@agentlens/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from './client.ts';
import { makeBudget } from './loaded-settings.ts';
import { DIALECTS, type Dialect, findPath, type GatewayWorld, MODEL, REFUSED } from './model-gateway-world.ts';

const CONNECTIONS = { anthropic: 'anthropic', openai: 'openai', responses: 'openai', gemini: 'gemini' } as const;

/** A connection whose provider gives no answer, and another one that gets its calls. */
export function describeFallback(world: GatewayWorld): void {
  let second: FakeProvider;
  beforeAll(async () => {
    second = await startFakeProvider();
  });
  beforeEach(() => second.answer(say({ ...SAID, pieces: ['From the second one.'] })));
  afterAll(() => second?.stop());

  const fail = (status: number) =>
    world.provider.answer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' });
      response.end('{"error":{"type":"overloaded_error","message":"Busy"}}');
    });

  /** A tenant whose connection of the dialect falls back to "spare". */
  async function newTenant(dialect: Dialect, spare: object = {}) {
    const { admin, key } = await world.newTenant();
    const isOpenAi = CONNECTIONS[dialect] === 'openai';
    const put = (name: string, url: string, more: object) =>
      admin.put(`/api/model-connections/${name}`, {
        ...{ dialect: CONNECTIONS[dialect], baseUrl: isOpenAi ? `${url}/v1` : url, ...more },
      });
    const made = await put('spare', second.url, { credential: 'spare-key', ...spare });
    expect({ ...made.body, status: made.status }).toMatchObject({ status: 200 });
    const set = await put(CONNECTIONS[dialect], world.provider.url, { fallback: 'spare' });
    expect(set.body).toMatchObject({ fallback: 'spare', credential: { fingerprint: expect.any(String) } });
    return { admin, key };
  }

  /** The price of each model at a provider, per million tokens of an answer. */
  async function setPrice(admin: Client, provider: string, output: number) {
    const price = { provider, model: '*', fromDay: '2026-01-01', rates: { input: 0, output } };
    expect((await admin.put('/api/prices/overrides', price)).status).toBeLessThan(300);
  }

  /** The record of the only call of a run. */
  async function readCall(admin: Client, runId: string) {
    let found: Record<string, unknown> = {};
    await eventually(async () => {
      const { body } = await admin.get(`/api/model-calls?runId=${runId}`);
      expect(body.calls).toHaveLength(1);
      found = body.calls[0];
    });
    return found;
  }

  describe.each(DIALECTS)('a fallback of %s', (dialect) => {
    it.each([
      [503, false],
      [429, true],
    ])('answers a call whose provider answers %i, streamed: %s', async (status, stream) => {
      const { admin, key } = await newTenant(dialect, { pricingProvider: 'spare-prices' });
      fail(status);
      const before = [world.provider.requests.length, second.requests.length] as const;
      const headers = { 'x-agentlens-run': `run-${status}` };
      const answer = await world.call(dialect, key, { body: { stream }, headers });
      const text = await answer.text();
      expect([answer.status, text]).toEqual([200, expect.stringContaining('From the second one.')]);
      expect(answer.headers.get('x-agentlens-connection')).toBe('spare');
      expect(answer.headers.get('retry-after')).toBeNull();

      const [first] = world.provider.requests.slice(before[0]);
      const sent = second.requests.slice(before[1]);
      expect([world.provider.requests.length - before[0], sent.length]).toEqual([1, 1]);
      expect(sent[0]?.body).toEqual(first?.body);
      expect(sent[0]?.path).toBe(findPath(dialect, stream).replace(/^\/gw\/[a-z]+/, ''));
      expect(JSON.stringify(sent[0]?.headers)).toContain('spare-key');
      expect(JSON.stringify([sent[0]?.headers, first?.headers])).not.toContain(key);
      expect(JSON.stringify(sent[0]?.headers)).not.toContain('provider-key');

      expect(await readCall(admin, `run-${status}`)).toMatchObject({
        ...{ connection: 'spare', provider: 'spare-prices', model: MODEL[dialect], outcome: 'completed' },
        id: answer.headers.get('x-agentlens-call'),
        failedAttempts: [{ connection: CONNECTIONS[dialect], problem: `status ${status}` }],
      });
      const { body: run } = await admin.get(`/api/runs/run-${status}`);
      expect(run.totals).toMatchObject({ llmCalls: 1, inputTokens: 1_200, outputTokens: 8 });
    });
  });

  describe('a connection with a fallback', () => {
    it('answers a call whose provider cannot be reached, and one whose provider does not begin its answer', async () => {
      const { admin, key } = await newTenant('anthropic');
      const first = { dialect: 'anthropic', fallback: 'spare', credential: 'k' };
      const closed = await startFakeProvider();
      await closed.stop();
      expect((await admin.put('/api/model-connections/gone', { ...first, baseUrl: closed.url })).status).toBe(200);
      const gone = await world.call('anthropic', key, { path: '/gw/gone/v1/messages' });
      expect([gone.status, gone.headers.get('x-agentlens-connection')]).toEqual([200, 'spare']);

      const impatient = { ...first, baseUrl: world.provider.url, firstByteSeconds: 1 };
      expect((await admin.put('/api/model-connections/silent', impatient)).body).toMatchObject({ firstByteSeconds: 1 });
      world.provider.answer(() => undefined);
      const left = world.provider.left();
      const late = await world.call('anthropic', key, { path: '/gw/silent/v1/messages' });
      expect([late.status, late.headers.get('x-agentlens-connection')]).toEqual([200, 'spare']);
      await left;
    });

    it('does not ask it about a call that a rule refuses, that its provider rejects, or that continues a response', async () => {
      const { admin, key } = await newTenant('responses');
      const asked = second.requests.length;
      fail(400);
      expect((await world.call('responses', key)).status).toBe(400);
      world.provider.answer(say({ ...SAID, id: 'resp_first' }));
      await (await world.call('responses', key)).arrayBuffer();
      fail(503);
      const continued = await world.call('responses', key, { body: { previous_response_id: 'resp_first' } });
      expect([continued.status, continued.headers.get('retry-after')]).toEqual([503, '7']);

      const rule = await admin.post('/api/guardrails', {
        ...{ name: 'No spare', conditionType: 'expression', actionType: 'block', mode: 'enforce', actionConfig: {} },
        conditionConfig: { expression: 'args.fallback == "spare"' },
        selector: { phases: ['llm.before'] },
      });
      expect({ ...rule.body, status: rule.status }).toMatchObject({ status: 201 });
      world.provider.answer(say(SAID));
      await eventually(async () => {
        expect((await world.call('responses', key)).status).toBe(REFUSED.responses.policy);
      });
      expect(second.requests.length).toBe(asked);
    });

    it('gives the answer of the provider if the fallback does not allow the model, or is too dear', async () => {
      const strict = await newTenant('openai', { models: ['gpt-5*'] });
      fail(503);
      const asked = second.requests.length;
      const refused = await world.call('openai', strict.key);
      expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('Busy')]);
      expect(refused.headers.get('x-agentlens-connection')).toBeNull();

      expect(second.requests.length).toBe(asked);

      const { admin, key } = await newTenant('openai', { pricingProvider: 'dear' });
      await setPrice(admin, 'dear', 100_000);
      await makeBudget(world.platform, admin, {
        name: 'Small',
        scope: 'agent',
        scopeId: 'bot',
        period: 'day',
        limitUsd: 1,
      });
      await eventually(async () => {
        const before = second.requests.length;
        const dear = await world.call('openai', key);
        expect([dear.status, await dear.text()]).toEqual([503, expect.stringContaining('Busy')]);
        expect(second.requests.length).toBe(before);
      });
    });

    it('is charged at the price of the fallback', async () => {
      const { admin, key } = await newTenant('openai', { pricingProvider: 'spare-prices' });
      await setPrice(admin, 'spare-prices', 1_000);
      const budgetId = await makeBudget(world.platform, admin, {
        ...{ name: 'Day', scope: 'agent', scopeId: 'bot', period: 'day', limitUsd: 100 },
      });
      fail(503);
      let calls = 0;
      await eventually(async () => {
        const runId = `run-priced-${++calls}`;
        await (await world.call('openai', key, { headers: { 'x-agentlens-run': runId } })).arrayBuffer();
        expect(await readCall(admin, runId)).toMatchObject({ costUsd: expect.closeTo(0.008) });
      });
      await eventually(async () => {
        const [pot] = (await admin.get(`/api/budgets/${budgetId}`)).body.pots;
        expect(pot).toMatchObject({ reservedUsd: 0 });
        expect(pot.spentUsd).toBeGreaterThanOrEqual(0.0079);
      });
    });
  });
}
