import { COMMANDS } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aCooldownRow, aDeliveryRow, anAttemptRow, aRuleRow, aStateRow, aTriggerRow } from './rows.ts';

let api: OperatorApi;

beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api.close());

const minute = (n: number) => new Date(Date.parse(NOW) + n * 60_000).toISOString();
const idsOf = (items: readonly { id: string }[]) => items.map((item) => item.id);

describe('writing rules', () => {
  it('is forwarded to the owner with the tenant of the key, and returns its answer', async () => {
    const asked: unknown[] = [];
    const rule = {
      id: 'made',
      tenantId: 'acme',
      version: 1,
      name: 'Notify',
      enabled: true,
      conditionType: 'cost_limit',
      conditionConfig: { maxCostUsd: 5 },
      actionType: 'notify_webhook',
      actionConfig: { url: 'https://example.com', secret: 'whsec_0123456789abcdef', headers: { 'x-key': 'short' } },
      cooldownMinutes: 15,
      dryRun: false,
      direction: 'both' as const,
      priority: 0,
      mode: 'enforce' as const,
      onMissing: 'allow' as const,
      onUnavailable: 'allow' as const,
      createdAt: NOW,
      updatedAt: NOW,
    };
    const owner = await api.bus.serve(COMMANDS.createRule, async (question) => {
      asked.push(question);
      return granted(rule);
    });
    const { status, body } = await api.call('POST', '/api/guardrails', {
      body: { name: 'Notify', tenantId: 'globex' },
    });
    await owner.close();
    const by = `admin (${api.keys.admin.id})`;
    const author = { keyId: api.keys.admin.id, keyName: 'admin' };
    expect(asked).toEqual([{ tenantId: 'acme', body: { name: 'Notify', tenantId: 'globex' }, by, author }]);
    expect(status).toBe(201);
    expect(body.actionConfig).toEqual({ url: 'https://example.com', secret: '***cdef', headers: { 'x-key': '***' } });
  });

  it('returns an error of the owner unchanged', async () => {
    const problem = {
      error: 'Validation failed',
      status: 400,
      details: [{ path: 'name', message: 'must not be empty' }],
    };
    const owner = await api.bus.serve(COMMANDS.updateRule, async () => ({ ok: false as const, problem }));
    const { status, body } = await api.call('PUT', '/api/guardrails/rule-1', { body: { name: '' } });
    await owner.close();
    expect(status).toBe(400);
    expect(body).toEqual({ ...problem, code: 'invalid_request', requestId: expect.any(String) });
  });

  it('returns 503 with Retry-After while the owner is unavailable', async () => {
    const { status, body, headers } = await api.call('DELETE', '/api/guardrails/rule-1');
    expect(status).toBe(503);
    expect(headers['retry-after']).toBe('2');
    expect(body).toMatchObject({ status: 503, hint: expect.stringContaining('Nothing was changed') });
  });
});

describe('rules', () => {
  beforeAll(async () => {
    const sealed = api.platform.secrets.seal('whsec_0123456789abcdef', ['acme', 'guardrail_rules', 'webhook']);
    const elsewhere = api.platform.secrets.seal('whsec_0123456789abcdef', ['globex', 'guardrail_rules', 'webhook']);
    await api.insert('guardrail_rules', aRuleRow({ rule_id: 'unscoped', created_at: minute(1) }));
    await api.insert('guardrail_rules', aRuleRow({ rule_id: 'scoped', agent_id: 'crew/role', created_at: minute(2) }));
    await api.insert(
      'guardrail_rules',
      aRuleRow({ rule_id: 'other', agent_id: 'other', enabled: false, created_at: minute(3) }),
    );
    await api.insert('guardrail_rules', aRuleRow({ rule_id: 'deleted', deleted_at: NOW, created_at: minute(4) }));
    await api.insert(
      'guardrail_rules',
      aRuleRow({
        rule_id: 'webhook',
        action_type: 'notify_webhook',
        action_config: { url: 'https://example.com', secret: sealed, headers: { authorization: elsewhere } },
        created_at: minute(5),
      }),
    );
  });

  it('are listed newest first, without deleted ones', async () => {
    const { body } = await api.get('/api/guardrails');
    expect(idsOf(body.rules)).toEqual(['webhook', 'other', 'scoped', 'unscoped']);
    expect(body).toMatchObject({ total: 4, hasMore: false });
  });

  it('of an agent include those scoped to it and those for every agent', async () => {
    const { body } = await api.get('/api/guardrails?agentId=crew%2Frole');
    expect(idsOf(body.rules)).toEqual(['webhook', 'scoped', 'unscoped']);
  });

  it('can be filtered', async () => {
    expect(idsOf((await api.get('/api/guardrails?enabled=false')).body.rules)).toEqual(['other']);
    expect(idsOf((await api.get('/api/guardrails?actionType=notify_webhook')).body.rules)).toEqual(['webhook']);
    expect((await api.get('/api/guardrails?conditionType=cost_limit')).body.rules).toEqual([]);
  });

  it('can be filtered by whether they let an unread value pass', async () => {
    await api.insert('tenants', { id: 'initech', name: 'initech', created_at: NOW });
    const { key } = await api.newKey(['read'], 'initech');
    const row = aRuleRow({
      ...{ tenant_id: 'initech', condition_type: 'tool_argument', action_type: 'block' },
      condition_config: { path: 'amount', type: 'number', operator: 'gt', value: 1000 },
    });
    await api.insert('guardrail_rules', { ...row, rule_id: 'passes', created_at: minute(1) });
    await api.insert('guardrail_rules', { ...row, rule_id: 'disabled', enabled: false, created_at: minute(2) });
    await api.insert('guardrail_rules', { ...row, rule_id: 'passes-too', created_at: minute(3) });
    await api.insert('guardrail_rules', { ...row, rule_id: 'deleted', deleted_at: NOW, created_at: minute(4) });
    await api.insert('guardrail_rules', { ...row, rule_id: 'foreign', tenant_id: 'globex', created_at: minute(5) });
    const list = async (query: string) => (await api.get(`/api/guardrails?${query}`, key)).body;
    const passing = await list('passesUnread=true');
    expect(idsOf(passing.rules).toSorted()).toEqual(['passes', 'passes-too']);
    expect(passing).toMatchObject({ total: 2, hasMore: false });
    expect(await list('passesUnread=true&limit=1')).toMatchObject({ total: 2, hasMore: true });
    expect(idsOf((await list('passesUnread=false')).rules)).toEqual(['disabled']);
    expect((await api.get('/api/guardrails?passesUnread=maybe', key)).status).toBe(400);
  });

  it('can be filtered by whether they let a call pass if approval cannot be requested', async () => {
    await api.insert('tenants', { id: 'umbrella', name: 'umbrella', created_at: NOW });
    const { key } = await api.newKey(['read'], 'umbrella');
    const row = aRuleRow({
      ...{ tenant_id: 'umbrella', condition_type: 'tool_name', condition_config: { value: 'pay' } },
      ...{ action_type: 'require_approval', action_config: {} },
    });
    await api.insert('guardrail_rules', { ...row, rule_id: 'old', on_unavailable: 'allow', created_at: minute(1) });
    await api.insert('guardrail_rules', { ...row, rule_id: 'new', on_unavailable: 'block', created_at: minute(2) });
    const { rules } = (await api.get('/api/guardrails?passesUnasked=true', key)).body;
    expect(idsOf(rules)).toEqual(['old']);
  });

  it('are paged by cursor and by offset', async () => {
    const first = (await api.get('/api/guardrails?limit=3')).body;
    expect(first.hasMore).toBe(true);
    const second = (await api.get(`/api/guardrails?limit=3&cursor=${first.nextCursor}`)).body;
    expect(idsOf(second.rules)).toEqual(['unscoped']);
    expect(second).not.toHaveProperty('nextCursor');
    expect((await api.get('/api/guardrails?limit=3&offset=3')).body.rules).toEqual(second.rules);
  });

  it('mask secrets, even one that cannot be opened', async () => {
    const { body } = await api.get('/api/guardrails/webhook');
    expect(body.actionConfig).toEqual({
      url: 'https://example.com',
      secret: '***cdef',
      headers: { authorization: '***' },
    });
  });

  it('are not found after they were deleted', async () => {
    expect(await api.get('/api/guardrails/deleted')).toMatchObject({
      status: 404,
      body: { error: 'Guardrail rule not found', status: 404 },
    });
    expect((await api.get('/api/guardrails/deleted/status')).status).toBe(404);
  });

  it('have a catalog that explains how to write them', async () => {
    const { body } = await api.get('/api/guardrails/catalog');
    expect(body.conditions.map((entry: { type: string }) => entry.type)).toContain('error_rate_threshold');
    expect(body.actions.map((entry: { type: string }) => entry.type)).toContain('notify_webhook');
    for (const entry of [...body.conditions, ...body.actions]) {
      expect(entry.schema).toMatchObject({
        type: 'object',
        properties: expect.anything(),
        additionalProperties: false,
      });
    }
  });
});

describe('the status of a rule', () => {
  beforeAll(async () => {
    await api.insert('guardrail_rules', aRuleRow({ rule_id: 'watched', created_at: minute(-10) }));
    await api.insert('guardrail_rules', aRuleRow({ rule_id: 'fresh', created_at: minute(-11) }));
    const of = { rule_id: 'watched' };
    await api.insert(
      'guardrail_states',
      aStateRow({ ...of, agent_id: 'a', current_value: 12.5, last_evaluated_at: minute(2) }),
    );
    await api.insert(
      'guardrail_states',
      aStateRow({ ...of, agent_id: 'b', current_value: null, last_evaluated_at: minute(1) }),
    );
    await api.insert('trigger_cooldowns', aCooldownRow({ ...of, agent_id: 'a', trigger_count: 2 }));
    await api.insert(
      'trigger_cooldowns',
      aCooldownRow({ ...of, agent_id: 'a', dry_run: true, trigger_count: 1, last_triggered_at: minute(1) }),
    );
    await api.insert('trigger_cooldowns', aCooldownRow({ ...of, agent_id: 'c', trigger_count: 5 }));
    for (let n = 0; n < 12; n++) {
      await api.insert('guardrail_triggers', aTriggerRow({ ...of, trigger_id: `t${n}`, triggered_at: minute(n) }));
    }
  });

  it("combines the evaluator's measurements with the dispatcher's counts", async () => {
    const { body } = await api.get('/api/guardrails/watched/status');
    expect(body.state).toEqual({
      ruleId: 'watched',
      tenantId: 'acme',
      lastEvaluatedAt: minute(2),
      currentValue: 12.5,
      triggerCount: 8,
      lastTriggeredAt: minute(1),
    });
    expect(body.rule.id).toBe('watched');
  });

  it('lists agents, the one evaluated last first', async () => {
    const { body } = await api.get('/api/guardrails/watched/status');
    expect(body.agents).toMatchObject([
      { agentId: 'a', triggerCount: 3, dryRunCount: 1, currentValue: 12.5, lastTriggeredAt: minute(1) },
      { agentId: 'b', triggerCount: 0, dryRunCount: 0, lastEvaluatedAt: minute(1) },
      { agentId: 'c', triggerCount: 5 },
    ]);
    expect(body.agents[1]).not.toHaveProperty('currentValue');
  });

  it('shows the ten newest triggers', async () => {
    const { body } = await api.get('/api/guardrails/watched/status');
    expect(idsOf(body.recentTriggers)).toEqual(['t11', 't10', 't9', 't8', 't7', 't6', 't5', 't4', 't3', 't2']);
  });

  it('is null until the first evaluation', async () => {
    expect((await api.get('/api/guardrails/fresh/status')).body).toMatchObject({ state: null, agents: [] });
  });
});

describe('history', () => {
  beforeAll(async () => {
    await api.insert('guardrail_rules', aRuleRow({ rule_id: 'gone', deleted_at: NOW }));
    const row = (fields: object) => aTriggerRow({ rule_id: 'gone', ...fields });
    await api.insert('guardrail_triggers', row({ trigger_id: 'h1', triggered_at: minute(100), agent_id: 'x' }));
    await api.insert(
      'guardrail_triggers',
      row({ trigger_id: 'h2', triggered_at: minute(101), action_result: 'failed' }),
    );
    await api.insert(
      'guardrail_triggers',
      row({ trigger_id: 'h3', triggered_at: minute(101), action_result: 'dry_run', dry_run: true }),
    );
    await api.insert(
      'guardrail_triggers',
      row({ trigger_id: 'h4', triggered_at: minute(102), run_id: null, event_id: null }),
    );
  });

  const history = async (query: string) => (await api.get(`/api/guardrails/history?ruleId=gone${query}`)).body;

  it('remains after the rule is deleted', async () => {
    expect(idsOf((await history('')).triggers)).toEqual(['h4', 'h3', 'h2', 'h1']);
    expect((await api.get('/api/guardrails/gone/actions')).body).toMatchObject({ total: 4 });
  });

  it('has the shape that AgentLens clients read', async () => {
    const [newest] = (await history('&agentId=x')).triggers;
    expect(newest).toMatchObject({
      id: 'h1',
      ruleId: 'gone',
      tenantId: 'acme',
      triggeredAt: minute(100),
      conditionValue: 50,
      conditionThreshold: 30,
      actionExecuted: true,
      actionResult: 'success',
      metadata: { agentId: 'x', sessionId: 'run-1', eventId: 'event-1', dryRun: false, message: expect.any(String) },
    });
  });

  it.each([
    ['&result=failed,dry_run', ['h3', 'h2']],
    ['&agentId=x', ['h1']],
    [`&from=${minute(101)}&to=${minute(101)}`, ['h3', 'h2']],
    [`&from=${encodeURIComponent('2026-03-01T15:42:00+02:00')}`, ['h4']],
  ])('is filtered by %s', async (query, ids) => {
    expect(idsOf((await history(query)).triggers)).toEqual(ids);
  });

  it('is paged without gap or repetition, even among equal times', async () => {
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 4; page++) {
      const body = await history(`&limit=1${cursor}`);
      seen.push(...idsOf(body.triggers));
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(seen).toEqual(['h4', 'h3', 'h2', 'h1']);
  });

  it('shows that a dry run executed nothing', async () => {
    const { triggers } = await history('&result=dry_run');
    expect(triggers[0]).toMatchObject({ actionExecuted: false, actionResult: 'dry_run', metadata: { dryRun: true } });
  });
});

describe('deliveries', () => {
  beforeAll(async () => {
    await api.insert(
      'deliveries',
      aDeliveryRow({ rule_id: 'r', result: 'retrying', settled_at: null, next_attempt_at: NOW }),
    );
    await api.insert('delivery_attempts', anAttemptRow());
    await api.insert(
      'delivery_attempts',
      anAttemptRow({ attempt: 2, outcome: 'delivered', http_status: null, detail: null }),
    );
    await api.insert(
      'deliveries',
      aDeliveryRow({ delivery_id: 'delivery-2', trigger_id: 'trigger-2', created_at: minute(1) }),
    );
  });

  it('show every attempt and no secret', async () => {
    const answer = await api.get('/api/guardrails/deliveries?triggerId=trigger-1');
    expect(answer.body.deliveries).toEqual([
      expect.objectContaining({
        id: 'delivery-1',
        result: 'retrying',
        attemptCount: 2,
        nextAttemptAt: NOW,
        attempts: [
          { attempt: 1, startedAt: NOW, finishedAt: NOW, outcome: 'retry', httpStatus: 500, detail: 'HTTP 500' },
          { attempt: 2, startedAt: NOW, finishedAt: NOW, outcome: 'delivered' },
        ],
      }),
    ]);
    expect(JSON.stringify(answer.body)).not.toContain('sealed');
  });

  it('are filtered and paged', async () => {
    expect(idsOf((await api.get('/api/guardrails/deliveries?ruleId=r')).body.deliveries)).toEqual(['delivery-1']);
    expect(idsOf((await api.get('/api/guardrails/deliveries?result=success')).body.deliveries)).toEqual(['delivery-2']);
    const first = (await api.get('/api/guardrails/deliveries?limit=1')).body;
    const second = (await api.get(`/api/guardrails/deliveries?limit=1&cursor=${first.nextCursor}`)).body;
    expect([...idsOf(first.deliveries), ...idsOf(second.deliveries)]).toEqual(['delivery-2', 'delivery-1']);
  });

  it('are redelivered by their owner', async () => {
    const asked: unknown[] = [];
    const owner = await api.bus.serve(COMMANDS.redeliver, async (question) => {
      asked.push(question);
      return granted({ deliveryId: question.deliveryId });
    });
    const answer = await api.call('POST', '/api/guardrails/deliveries/delivery-1/redeliver');
    await owner.close();
    expect(answer).toMatchObject({ status: 202, body: { deliveryId: 'delivery-1' } });
    const author = { keyId: api.keys.admin.id, keyName: 'admin' };
    expect(asked).toEqual([{ tenantId: 'acme', deliveryId: 'delivery-1', author }]);
  });

  it('are not forwarded if they do not exist', async () => {
    expect((await api.call('POST', '/api/guardrails/deliveries/none/redeliver')).status).toBe(404);
  });
});
