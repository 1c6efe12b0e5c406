import { CHANGE_KINDS, timeOrderedId } from '@agentlens/contracts';
import { eventually, recordingServer } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import { failure, pauseRule } from './support/events.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

/** One change of every kind, by one person, through the whole platform. */
describe('the audit of changes by people', () => {
  let platform: PlatformUnderTest;
  let admin: Client;
  const actor = { 'x-agentlens-actor': 'ann@example.com' };
  beforeAll(async () => {
    platform = await startEmbedded();
    admin = new Client(platform, (await platform.keyOf('acme', 'admin')).key);
  });
  afterAll(() => platform?.stop());

  const change = async (method: string, path: string, body?: object) => {
    const answer = await admin.send(method, path, body && JSON.stringify(body), actor);
    expect(answer.status).toBeLessThan(300);
    return answer.body;
  };
  const approvalOf = async (tool: string): Promise<string> => {
    const call = { phase: 'tool.before', agentId: 'bot', tool: { name: tool }, args: { tool }, tags: {} };
    return eventually(async () => {
      const { body } = await admin.post(`/v1/runs/${timeOrderedId(Date.now())}/evaluate`, call);
      expect(body.cause.kind).toBe('HITL_PENDING');
      return body.cause.approvalId;
    });
  };
  const entries = async (query = '') => (await admin.get(`/api/audit?limit=200${query}`)).body.entries;

  it('records every kind of change, its author, and no secret', async () => {
    const receiver = await recordingServer();
    const secret = `whsec_${Buffer.alloc(24, 5).toString('base64')}`;
    const hook = { actionType: 'notify_webhook', actionConfig: { url: `${receiver.url}/hook`, secret } };
    const rule = await change('POST', '/api/guardrails', pauseRule({ ...hook, name: 'Tell', agentId: 'bot' }));
    await change('PUT', `/api/guardrails/${rule.id}`, { cooldownMinutes: 1 });
    const budget = await change('POST', '/api/budgets', { name: 'Day', scope: 'tenant', period: 'day', limitUsd: 5 });
    await change('PATCH', `/api/budgets/${budget.id}`, { limitUsd: 7 });
    await change('DELETE', `/api/budgets/${budget.id}`);
    await change('PUT', '/api/breakers/limits', { scope: 'agent', id: 'bot', limits: { maxIterations: 500 } });
    await change('POST', '/api/breakers/agent/bot/reset');
    await change('PUT', '/api/trees/limits', { scope: 'tenant', limits: { maxDepth: 9 } });
    const webhook = { url: `${receiver.url}/told`, events: ['approvals'] };
    const endpoint = await change('POST', '/api/webhooks', webhook);
    await change('PATCH', `/api/webhooks/${endpoint.id}`, { enabled: false });
    await change('POST', `/api/webhooks/${endpoint.id}/secret`);
    await change('DELETE', `/api/webhooks/${endpoint.id}`);
    const channel = { config: { kind: 'webhook', url: `${receiver.url}/channel` } };
    await change('PUT', '/api/channels/ops', channel);
    await change('PUT', '/api/channels/ops', channel);
    await change('PUT', '/api/routes', { routes: [{ id: 'all', channels: [] }] });
    const endsAt = new Date(Date.now() + 60_000).toISOString();
    const silence = await change('POST', '/api/silences', { matchers: ['agent=none'], endsAt, comment: 'A test' });
    await change('DELETE', `/api/silences/${silence.id}`);
    await change('DELETE', '/api/channels/ops');
    const key = await change('POST', '/api/keys', { name: 'ci' });
    await change('POST', `/api/keys/${key.id}/rotate`);
    await change('DELETE', `/api/keys/${key.id}`);
    await change('PATCH', '/api/settings', { decisionArguments: 'none' });
    const view = await change('PUT', '/api/saved-views', { page: 'runs', name: 'Failed', query: '?status=failed' });
    await change('DELETE', `/api/saved-views/${view.id}`);
    await change('POST', '/api/deploys', { agentId: 'bot', version: '2.4.0' });
    const day = { fromDay: '2026-01-01' };
    const price = await change('PUT', '/api/prices/overrides', {
      model: 'house',
      ...day,
      rates: { input: 1, output: 2 },
    });
    await change('DELETE', `/api/prices/overrides/${price.id}`);
    const range = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' };
    const reprice = await change('POST', '/api/reprices', range);
    await eventually(async () =>
      expect((await admin.get(`/api/reprices/${reprice.id}`)).body).toMatchObject({ state: 'finished' }),
    );
    await admin.post('/api/events', { events: [failure('bot', 'run-1'), failure('bot', 'run-1')] });
    await eventually(async () => {
      await admin.post('/api/events', { events: [failure('bot', 'run-1')] });
      expect(receiver.requests.length).toBeGreaterThan(0);
      expect((await admin.get('/api/guardrails/history')).body.triggers[0].actionResult).toBe('success');
    });
    const { deliveries } = (await admin.get('/api/guardrails/deliveries')).body;
    await change('POST', `/api/guardrails/deliveries/${deliveries[0].id}/redeliver`);
    await change('POST', '/api/control', { scope: 'agent', id: 'bot', state: 'paused', waitMs: 0 });
    await change('POST', '/api/control', { scope: 'agent', id: 'bot', state: 'running', waitMs: 0 });
    await change('PUT', '/api/agents/bot/unpause', {});
    const gate = { name: 'Ask', conditionType: 'tool_name', conditionConfig: { value: 'pay_*' } };
    await change('POST', '/api/guardrails', { ...gate, actionType: 'require_approval', actionConfig: {} });
    for (const verb of ['acknowledge', 'approve', 'deny', 'cancel']) {
      await change('POST', `/api/alerts/${await approvalOf(`pay_${verb}`)}/${verb}`, { reason: 'because' });
    }
    await change('DELETE', `/api/guardrails/${rule.id}`);
    await receiver.close();

    const found: { kind: string }[] = await entries('&actor=ann@example.com');
    const elsewhere = new Set([
      ...['tenant.created', 'breaker_limits.deleted', 'run.deleted', 'erasure.started', 'erasure.finished'],
      'label.cleared',
      // model-gateway.e2e, refusals.int, people.int, deputies.int, on-call.int and votes.int.
      ...CHANGE_KINDS.filter((kind) =>
        /^(?:model_connection|decision|session|person|grant|provider|team|approval_policy|vote|deputy|on_call|chat_link)\./.test(
          kind,
        ),
      ),
      // By the operator of the platform, for all tenants.
      'price_table.loaded',
    ]);
    const kinds = new Set(found.map(({ kind }) => kind));
    expect(CHANGE_KINDS.filter((kind) => !kinds.has(kind) && !elsewhere.has(kind))).toEqual([]);
    expect(JSON.stringify(found)).not.toContain(secret.slice(6, 20));
    for (const hidden of ['/told', endpoint.secret]) expect(JSON.stringify(found)).not.toContain(hidden);
    expect(await entries(`&targetId=${rule.id}`)).toMatchObject([
      { kind: 'rule.deleted', before: { cooldownMinutes: 1 }, after: null },
      { kind: 'rule.changed', before: { cooldownMinutes: 15 }, after: { cooldownMinutes: 1 } },
      { kind: 'rule.created', before: null, after: { name: 'Tell' } },
    ]);
    expect(await entries('&kind=alert.approved')).toMatchObject([
      { reason: 'because', before: { status: 'pending' }, after: { status: 'approved' } },
    ]);
  });
});
