import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './client.ts';
import { failure, pauseRule, spending, success } from './events.ts';
import { makeBudget } from './loaded-settings.ts';
import type { PlatformUnderTest, Scope } from './platform-under-test.ts';
import { missing, RecordedClient, readRecording } from './recorded-traffic.ts';

const RECORDINGS = ['typescript-sdk', 'python-sdk', 'python-plugins', 'handlebar'] as const;

/** The four causes that older clients know. Any other cause makes them let the call pass. */
const CAUSES: Readonly<Record<string, object>> = {
  ALLOW: {},
  RULE_VIOLATION: { ruleId: 'string' },
  HITL_PENDING: { approvalId: 'string', 'ruleId?': 'string' },
  LOCKDOWN: { 'lockdownId?': 'string' },
};

/** What older clients rely on. It must never change. */
export function describeCompatibility(mode: string, start: () => Promise<PlatformUnderTest>): void {
  describe(`older clients, ${mode}`, () => {
    let platform: PlatformUnderTest;
    let tenants = 0;
    beforeAll(async () => {
      platform = await start();
    });
    afterAll(() => platform?.stop());

    const newTenant = async (...scopes: Scope[]) => {
      const { key } = await platform.keyOf(`field-${++tenants}`, ...scopes);
      return { key, client: new Client(platform, key) };
    };
    const found = (client: Client, path: string, part: object) =>
      eventually(async () => {
        const answer = await client.get(path);
        expect(answer).toMatchObject({ status: 200, body: part });
        return answer.body;
      });

    it.each(RECORDINGS)('get the answers they expect to what they send: %s', async (name) => {
      const recording = await readRecording(name);
      const { key } = await newTenant('admin');
      const client = new RecordedClient(platform, key, recording);
      for (const call of recording.calls) {
        await client.play(call).catch((error: unknown) => {
          throw new Error(`${recording.client}: ${call.call} was answered otherwise`, { cause: error });
        });
      }
    });

    it('get one of four causes with every decision, in the fields they validate', async () => {
      const { decision: shape } = (await readRecording('handlebar')).shapes;
      if (shape === undefined) throw new Error('the recording has the shape of a decision');
      const { client } = await newTenant('admin');
      const rule = async (value: string, actionType: string) => {
        const body = {
          name: value,
          conditionType: 'tool_name',
          conditionConfig: { value },
          actionType,
          actionConfig: {},
        };
        expect(await client.post('/api/guardrails', body)).toMatchObject({ status: 201 });
      };
      const rules = (await platform.ruleCounts()).map((count) => count + 2);
      await rule('drop', 'block');
      await rule('pay', 'require_approval');
      await eventually(async () => expect(await platform.ruleCounts()).toEqual(rules));
      const budget = { scope: 'agent', scopeId: 'poor', period: 'day', limitUsd: 0.1, name: 'Little' };
      await makeBudget(platform, client, budget);
      const ask = async (runId: string, name: string, agentId = 'bot') => {
        // An approval that is not requested in time would let the call pass.
        const question = { phase: 'tool.before', agentId, tool: { name }, args: {}, tags: {}, deadlineMs: 5_000 };
        const { status, body } = await client.post(`/v1/runs/${runId}/evaluate`, question);
        expect({ status, missing: missing(shape, body) }).toEqual({ status: 200, missing: [] });
        expect(missing({ kind: 'string', ...CAUSES[body.cause.kind] } as never, body.cause)).toEqual([]);
        return body;
      };
      expect(await ask('run-1', 'search')).toMatchObject({ verdict: 'ALLOW', cause: { kind: 'ALLOW' } });
      expect(await ask('run-1', 'drop')).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'RULE_VIOLATION' } });
      expect(await ask('run-1', 'pay')).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'HITL_PENDING' } });
      // A new budget reaches each evaluator within a second; earlier spending may not count.
      await eventually(async () => {
        await client.post('/api/events', { events: [spending('poor', 'spent', 1)] });
        const spent = await ask('run-2', 'search', 'poor');
        expect(spent).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'RULE_VIOLATION' } });
      });
      const order = { scope: 'run', id: 'run-1', state: 'killed', reason: 'enough', waitMs: 0 };
      expect((await client.post('/api/control', order)).status).toBe(200);
      await eventually(async () => {
        const killed = await ask('run-1', 'search');
        expect(killed).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } });
      });
    });

    it('page by offset, count only, leave metrics out, and look back over a window', async () => {
      const { client } = await newTenant('admin');
      const metric = {
        sessionId: 'run-2',
        agentId: 'bot',
        eventType: 'custom',
        payload: { type: 'embedding_metric', data: {} },
      };
      const events = [success('bot', 'run-1'), success('bot', 'run-2'), metric];
      expect(await client.post('/api/events', { events })).toMatchObject({ status: 201 });
      await found(client, '/api/sessions?countOnly=true', { count: 2 });
      const { sessions } = await found(client, '/api/sessions?limit=1&offset=1', { total: 2, hasMore: false });
      expect(sessions).toHaveLength(1);
      await found(client, '/api/events?limit=1&offset=1', { total: 3, hasMore: true });
      const { events: kept } = await found(client, '/api/events?excludeMetrics=true', { total: 2 });
      expect(kept).toHaveLength(2);
      await found(client, '/api/agents/bot/health?window=7', { agentId: 'bot', overallScore: expect.any(Number) });
      await found(client, '/api/health/overview?window=30', { agents: [{ agentId: 'bot' }] });
    });

    it('use their own names for the scopes of a key, and stream with the key in the address', async () => {
      const { client } = await newTenant('admin');
      const made = async (...scopes: string[]) => (await client.post('/api/keys', { name: 'field', scopes })).body;
      expect(await made('*')).toMatchObject({ scopes: ['admin'], key: expect.any(String) });
      expect(await made('manage')).toMatchObject({ scopes: ['admin'] });
      const { key, scopes } = await made('write');
      expect(scopes).toEqual(['ingest', 'decide']);
      const writer = new Client(platform, key);
      expect(await writer.post('/api/events', { events: [success('bot', 'run-1')] })).toMatchObject({ status: 201 });
      expect((await writer.get('/api/events')).status).toBe(403);

      const { key: reader } = await made('*');
      const path = `/api/stream?token=${reader}&agentId=bot`;
      const stream = await fetch(`${platform.addressFor('GET', path)}${path}`);
      expect(stream.status).toBe(200);
      const frames = framesOf(stream);
      expect((await frames.next()).value).toMatchObject({ event: 'heartbeat', data: { time: expect.any(String) } });
      expect(await client.post('/api/guardrails', pauseRule({ agentId: 'bot' }))).toMatchObject({ status: 201 });
      const alert = await eventually(async () => {
        await writer.post('/api/events', { events: [failure('bot', 'run-1'), failure('bot', 'run-1')] });
        const { value } = await frames.next();
        expect(value).toMatchObject({ event: 'alert' });
        return value?.data;
      });
      expect(alert).toMatchObject({ name: 'Too many errors', threshold: 50, message: expect.any(String) });
      const fields = {
        ruleId: 'string',
        name: 'string',
        currentValue: 'number',
        threshold: 'number',
        triggeredAt: 'string',
      };
      expect(missing(fields, alert)).toEqual([]);
      await frames.return(undefined);
    });

    it('read the texts they know, and unpause an agent with PUT', async () => {
      const { client } = await newTenant('admin');
      expect(await client.post('/api/guardrails', pauseRule())).toMatchObject({ status: 201 });
      await eventually(async () => {
        await client.post('/api/events', { events: [failure('bot', 'run-1')] });
        expect((await client.get('/api/agents/bot')).body).toMatchObject({
          pausedAt: expect.any(String),
          pauseReason: expect.stringContaining('Paused by the rule'),
        });
      });
      const { triggers } = await found(client, '/api/guardrails/history', { total: 1 });
      expect(triggers[0].metadata.message).toMatch(/^Error rate [\d.]+% exceeds threshold 50%$/);
      const resumed = await client.put('/api/agents/bot/unpause', { clearModelOverride: true });
      expect(resumed).toMatchObject({ status: 200, body: { id: 'bot' } });
      expect(resumed.body.pausedAt ?? null).toBeNull();
      for (const path of ['/api/guardrails/none', '/api/guardrails/none/status']) {
        expect(await client.get(path)).toMatchObject({
          status: 404,
          body: {
            error: 'Guardrail rule not found',
          },
        });
      }
    });

    it('switch a rule by "enabled" and "dryRun", change a part of it with PUT, and name the target of an order by "id"', async () => {
      const { client } = await newTenant('admin');
      const { body: rule } = await client.post('/api/guardrails', pauseRule({ enabled: false, dryRun: true }));
      expect(rule).toMatchObject({ enabled: false, dryRun: true });
      const changed = await client.put(`/api/guardrails/${rule.id}`, { enabled: true });
      expect(changed).toMatchObject({ status: 200, body: { enabled: true, dryRun: true, name: rule.name } });
      const order = await client.post('/api/control', { scope: 'agent', id: 'bot', state: 'paused', waitMs: 0 });
      expect(order).toMatchObject({
        status: 200,
        body: { order: { scope: 'agent', scopeId: 'bot', state: 'paused' } },
      });
      await found(client, '/api/control?id=bot', { orders: [{ scopeId: 'bot' }] });
    });
  });
}

interface Frame {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The frames of a stream of server-sent events, without heartbeats after the first. */
async function* framesOf(stream: Response): AsyncGenerator<Frame, void> {
  if (stream.body === null) throw new Error('the stream has a body');
  let text = '';
  let seen = 0;
  for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const fields = Object.fromEntries(part.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)));
      if (fields.data === undefined || (fields.event === 'heartbeat' && seen > 0)) continue;
      seen += 1;
      yield { event: fields.event, data: JSON.parse(fields.data) };
    }
  }
}
