import {
  ApprovalPolicy,
  COMMANDS,
  type ControlOrder,
  RoutingDocument,
  StoredBreakerLimits,
} from '@agentlens/contracts';
import { OPERATIONS, PROBE_OPERATIONS, QUERY_OPERATIONS, scopesOf } from '@agentlens/operations';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import {
  aBreakerLimitsRow,
  aBreakerRow,
  aBudgetRow,
  aCooldownRow,
  aDailyRow,
  aDecisionRow,
  aDeliveryRow,
  aDirectiveRow,
  anAcknowledgementRow,
  anAgentRow,
  anAlertRow,
  anAttemptRow,
  anEventRow,
  anOrderRow,
  aRuleRow,
  aRuleVersionRow,
  aRunRow,
  aStateRow,
  aTriggerRow,
  aWebhookRow,
} from './rows.ts';

let api: OperatorApi;

const sentBody = { body: '{}', bodyBytes: 2, bodyCut: false };
const AN_EXCHANGE = {
  request: {
    method: 'POST',
    origin: 'https://example.com',
    headers: { 'content-type': 'application/json' },
    ...sentBody,
  },
  response: { status: 200, headers: {}, ...sentBody },
};

beforeAll(async () => {
  api = await startOperatorApi();
  await api.insert('agents', anAgentRow());
  await api.insert('agent_directives', aDirectiveRow());
  await api.insert('runs', aRunRow({ ended_at: NOW, status: 'succeeded', agent_name: 'First', session_id: 'group' }));
  await api.insert(
    'runs',
    aRunRow({
      run_id: 'run-2',
      parent_run_id: 'run-1',
      parent_tool_use_id: 'call-1',
      actor: { externalId: 'ann' },
      actor_id: 'ann',
      run_tags: { team: 'blue' },
      ttl_ms: 60_000,
      heartbeat_every_ms: 5_000,
      heartbeat_at: NOW,
      status: 'timed_out',
    }),
  );
  await api.insert('events', anEventRow({ latency_ms: 12.5, cost_usd: 0.62, cost_source: 'priced' }));
  await api.insert(
    'guardrail_rules',
    aRuleRow({
      description: 'why',
      tool_names: ['search'],
      key: 'large',
      ruleset: 'pay',
      applied_version: 1,
      version: 2,
    }),
  );
  await api.insert('rule_versions', aRuleVersionRow({ reason: 'too loud' }));
  await api.insert(
    'rule_versions',
    aRuleVersionRow({ version: 2, changes: JSON.stringify([{ path: 'name', from: 'a', to: 'b' }]) }),
  );
  await api.insert('guardrail_triggers', aTriggerRow({ action_detail: 'HTTP 500', settled_at: NOW }));
  await api.insert('guardrail_states', aStateRow({ degraded_reason: 'window store away' }));
  await api.insert('trigger_cooldowns', aCooldownRow());
  await api.insert('deliveries', aDeliveryRow({ detail: 'gone', next_attempt_at: NOW }));
  await api.insert('delivery_attempts', anAttemptRow());
  await api.insert('delivery_attempts', anAttemptRow({ attempt: 2, exchange: AN_EXCHANGE }));
  await api.insert('agent_daily', aDailyRow());
  await api.insert('alerts', anAlertRow({ suppressed: 2, acknowledged_at: NOW, acknowledged_by: 'a', reason: 'why' }));
  await api.insert('alerts', anAlertRow({ alert_id: 'alert-2', decided_at: NOW, decided_by: 'b', used_at: NOW }));
  await api.insert('control_orders', anOrderRow());
  await api.insert('control_acknowledgements', anAcknowledgementRow());
  await api.insert('circuit_breakers', aBreakerRow());
  await api.insert('breaker_limits', aBreakerLimitsRow());
  await api.insert('budgets', aBudgetRow());
  await api.insert('decisions', aDecisionRow());
  await api.insert('approval_calls', {
    ...{ tenant_id: 'acme', alert_id: 'alert-1', cut: null, created_at: NOW },
    sealed: api.platform.secrets.seal('{"arguments":"{}"}', ['acme', 'approval_calls', 'alert-1']),
  });
  await api.insert('webhook_endpoints', aWebhookRow({ name: 'On call' }));
  const answered = { event_id: 'event-2', kind: 'tool.completed', tool_name: 'search', call_id: 'c', latency_ms: 12 };
  await api.insert('events', anEventRow({ ...answered, payload: { result: { n: 1 }, arguments: { q: 'x' } } }));
  await api.insert(
    'events',
    anEventRow({
      event_id: 'event-3',
      kind: 'llm.completed',
      model: 'm',
      provider: 'p',
      input_tokens: 3,
      cost_usd: 0.1,
    }),
  );
  const { body: rule } = await api.get('/api/guardrails/rule-1');
  await api.bus.serve(COMMANDS.createRule, async () => granted(rule));
  await api.bus.serve(COMMANDS.updateRule, async () => granted(rule));
  await api.bus.serve(COMMANDS.revertRule, async () => granted(rule));
  await api.bus.serve(COMMANDS.promoteRule, async () => granted(rule));
  await api.bus.serve(COMMANDS.suspendRule, async () => granted(rule));
  const plan = { ruleset: 'pay', basis: { large: 1 }, changes: [], unlisted: ['large'], problems: [] };
  await api.bus.serve(COMMANDS.planRuleset, async () => granted(plan));
  await api.bus.serve(COMMANDS.applyRuleset, async () => granted(plan));
  await api.bus.serve(COMMANDS.releaseRuleset, async () => granted({ released: 1 }));
  const source = { runId: 'run-1', agentId: 'agent-1', toolName: 'read', at: NOW };
  await api.bus.serve(COMMANDS.readLabels, async () => granted({ labels: [{ label: 'pii', source }] }));
  await api.bus.serve(COMMANDS.clearLabel, async () => granted({ ok: true as const }));
  await api.bus.serve(COMMANDS.deleteRule, async () => granted({ ok: true as const }));
  await api.bus.serve(COMMANDS.unpauseAgent, async () => granted({ rearmed: [] }));
  const { body: alert } = await api.get('/api/alerts/alert-1');
  await api.bus.serve(COMMANDS.decideAlert, async () => granted(alert));
  const policy = ApprovalPolicy.parse({ name: 'Payments', approvers: { anyone: true } });
  await api.bus.serve(COMMANDS.setApprovalPolicy, async () =>
    granted({ id: 'payments', place: 1, version: 1, policy }),
  );
  await api.bus.serve(COMMANDS.deleteApprovalPolicy, async () => granted({ id: 'payments', deleted: true as const }));
  const counted = { quorum: 1, needs: 1, votes: [], eligible: 1, awaited: [], unreachable: false, mayVote: true };
  await api.bus.serve(COMMANDS.readVotes, async () => granted({ alertId: 'alert-1', policy, ...counted }));
  const channel = { id: 'ops', kind: 'webhook' as const, target: 'x', enabled: true, version: 1 };
  await api.insert('channels', {
    ...{ tenant_id: 'acme', channel_id: 'ops', kind: 'webhook', name: 'Ops', config: {}, target: 'x' },
    ...{ enabled: true, version: 1, created_at: NOW, updated_at: NOW },
  });
  await api.insert('silences', {
    ...{ tenant_id: 'acme', silence_id: 'silence-1', matchers: JSON.stringify(['agent=a']), comment: 'x' },
    ...{ starts_at: NOW, ends_at: '2036-03-01T00:00:00Z', created_by: 'x', created_at: NOW },
  });
  const document = RoutingDocument.parse({ routes: [{ id: 'all', channels: ['ops'] }] });
  await api.insert('routing_documents', {
    ...{ tenant_id: 'acme', version: 1, body: document, saved_by: 'x', saved_at: NOW },
  });
  const silence = { id: 'silence-1', matchers: ['agent=a'], startsAt: NOW, endsAt: NOW, comment: 'x', by: 'x' };
  await api.bus.serve(COMMANDS.setChannel, async () => granted({ ...channel, health: { state: 'unused' as const } }));
  await api.bus.serve(COMMANDS.deleteChannel, async () => granted({ id: 'ops', deleted: true as const }));
  await api.bus.serve(COMMANDS.testChannel, async () => granted({ deliveryIds: ['delivery-1'] }));
  await api.bus.serve(COMMANDS.linkChat, async () => granted({ workspace: 'T1', user: 'U1' }));
  await api.bus.serve(COMMANDS.setRoutes, async () => granted({ version: 2, savedBy: 'x', savedAt: NOW, document }));
  await api.bus.serve(COMMANDS.createSilence, async () => granted({ ...silence, state: 'active' as const }));
  await api.bus.serve(COMMANDS.endSilence, async () => granted({ ...silence, state: 'ended' as const }));
  await api.bus.serve(COMMANDS.orderControl, async () => granted(ORDER));
  await api.bus.serve(COMMANDS.setBreakerLimits, async () => granted(StoredBreakerLimits.parse({})));
  await api.bus.serve(COMMANDS.patchBreakerLimits, async () => granted(StoredBreakerLimits.parse({})));
  await api.bus.serve(COMMANDS.deleteBreakerLimits, async () => granted({ ok: true as const }));
  await api.bus.serve(COMMANDS.resetBreaker, async () => granted({ ok: true as const }));
  const { body: budgets } = await api.get('/api/budgets');
  await api.bus.serve(COMMANDS.createBudget, async () => granted(budgets.budgets[0]));
  const pot = {
    scopeId: 'agent-1',
    periodStart: '2026-03-01',
    spentUsd: 1,
    reservedUsd: 0.5,
    remainingUsd: 11,
    unpricedCalls: 2,
    estimatedUsd: 0.25,
  };
  await api.bus.serve(COMMANDS.updateBudget, async () => granted(budgets.budgets[0]));
  await api.bus.serve(COMMANDS.budgetStanding, async () => granted({ budget: budgets.budgets[0], pots: [pot] }));
  await api.bus.serve(COMMANDS.deleteBudget, async () => granted({ ok: true as const }));
  const { body: webhook } = await api.get('/api/webhooks/webhook-1');
  await api.bus.serve(COMMANDS.createWebhook, async () => granted({ ...webhook, secret: 'whsec_shown' }));
  await api.bus.serve(COMMANDS.rotateWebhookSecret, async () => granted({ ...webhook, secret: 'whsec_shown' }));
  await api.bus.serve(COMMANDS.updateWebhook, async () => granted(webhook));
  await api.bus.serve(COMMANDS.deleteWebhook, async () => granted({ ok: true as const }));
  await api.bus.serve(COMMANDS.testWebhook, async () => granted({ deliveryId: 'delivery-2' }));
  await api.bus.serve(COMMANDS.deleteRun, async ({ runId }) => granted({ id: runId, deletedAt: NOW, complete: true }));
  await api.bus.serve(COMMANDS.eraseActor, async () => granted({ id: 'erasure-2', requestedAt: NOW }));
  const erased = { state: 'finished', finished_at: NOW, runs: 1, events: 2 };
  await api.insert('erasures', {
    ...{ tenant_id: 'acme', erasure_id: 'erasure-1', actor_digest: 'a'.repeat(64), requested_at: NOW, ...erased },
  });
  const priced = {
    request: JSON.stringify({ from: NOW, to: NOW, onlyUnpriced: false, dryRun: true }),
    state: 'finished',
  };
  const byModel = { m: { provider: 'p', model: 'm', calls: 1, changed: 1, oldUsd: 0, newUsd: 1, unpriced: 0 } };
  await api.insert('reprices', {
    ...{ tenant_id: 'acme', reprice_id: 'reprice-1', ...priced, by_model: JSON.stringify(byModel) },
    ...{ started_at: NOW, finished_at: NOW, error: 'why' },
  });
  const spec = { from: NOW, to: NOW, assume: 'as_happened' };
  await api.insert('backtests', {
    ...{ tenant_id: 'acme', backtest_id: 'backtest-1', status: 'queued', created_at: NOW, created_by: 'ann' },
    ...{ spec: JSON.stringify(spec), rule: JSON.stringify({ name: 'Draft' }) },
    progress: JSON.stringify({ events: 0, decisions: 0, perSecond: 0 }),
  });
  const { body: backtest } = await api.get('/api/backtests/backtest-1');
  await api.bus.serve(COMMANDS.createBacktest, async () => granted(backtest));
  await api.bus.serve(COMMANDS.cancelBacktest, async () => granted(backtest));
  await api.insert('browser_sessions', {
    ...{ tenant_id: 'acme', session_id: 'browser-1', key_id: api.keys.admin.id, user_agent: 'Firefox' },
    ...{ created_at: NOW, expires_at: '2999-01-01T00:00:00.000Z' },
  });
  await api.insert('saved_views', {
    ...{ tenant_id: 'acme', view_id: 'view-1', page: 'runs', name: 'Failed', query: '?status=failed' },
    ...{ updated_at: NOW, updated_by: 'ann' },
  });
  await api.insert('provider_connections', {
    ...{ tenant_id: 'acme', name: 'pay', dialect: 'openai', base_url: 'https://api.openai.com/v1', version: 1 },
    ...{ created_at: NOW, updated_at: NOW },
  });
  const { body: reprice } = await api.get('/api/reprices/reprice-1');
  await api.bus.serve(COMMANDS.startReprice, async () => granted(reprice));
  await api.insert('price_overrides', {
    ...{ tenant_id: 'acme', override_id: 'price-1', version: 1, model: 'm', from_day: '2026-01-01' },
    ...{ price: JSON.stringify({ factor: 0.5 }), created_at: NOW, updated_at: NOW },
  });
  await api.insert(
    'events',
    anEventRow({
      ...{ event_id: 'event-4', kind: 'llm.completed', model: 'gpt-4o-next', provider: 'openai', input_tokens: 3 },
      ...{ cost_source: 'unpriced', pricing: JSON.stringify({ unpricedReason: 'unknown_model', estimatedCostUsd: 1 }) },
    }),
  );
  await api.bus.serve(COMMANDS.redeliver, async ({ deliveryId }) => granted({ deliveryId }));
});

afterAll(() => api.close());

const ORDER: ControlOrder = {
  id: 'order-2',
  tenantId: 'acme',
  scope: 'run',
  scopeId: 'run-1',
  state: 'killed',
  reason: '',
  by: 'ops',
  version: 2,
  issuedAt: NOW,
};

/** Bodies for writes that require one. */
const DRAFT = {
  name: 'No big payments',
  conditionType: 'tool_argument',
  conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 1 },
  actionType: 'block',
};

const BODIES: Readonly<Record<string, object>> = {
  'delete /api/runs/:id/labels/:label': { reason: 'reviewed' },
  'put /api/prices/overrides': { model: 'other', fromDay: '2026-01-01', rates: { input: 1, output: 2 } },
  'post /api/deploys': { version: '2.4.0' },
  'put /api/saved-views': { page: 'runs', name: 'Failed today', query: '?status=failed' },
  'put /api/model-connections/:name': { dialect: 'openai', credential: 'sk-1' },
  'put /api/prices/table': {
    version: 'shapes',
    providers: [{ id: 'p', name: 'P', api_pattern: 'p', models: [{ id: 'm', match: { equals: 'm' }, prices: {} }] }],
  },
  'post /api/reprices': { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' },
  'post /api/invoices/check': { csv: 'day,model,cost\n2026-01-01,m,1\n' },
  'post /api/control': { scope: 'run', id: 'run-1', state: 'killed', waitMs: 0 },
  'post /api/erasures': { actorId: 'ann' },
  'put /api/breakers/limits': { scope: 'tenant' },
  'patch /api/breakers/limits': { scope: 'tenant', limits: { maxTokens: 5 } },
  'post /api/guardrails/:id/revert': { version: 1 },
  'post /api/guardrails/:id/promote': { to: 'shadow' },
  'post /api/guardrails/:id/suspend': { until: '2026-03-02T00:00:00.000Z', reason: 'why' },
  'post /api/login': { verifier: 'A'.repeat(43) },
  'post /api/webhooks': { url: 'https://example.com/hook', events: ['approvals'] },
  'put /api/approval-policies/:id': { policy: { name: 'Payments', approvers: { anyone: true } } },
  'post /api/approval-policies/explain': { agentId: 'agent-1', toolName: 'pay' },
  'put /api/channels/:id': { enabled: true },
  'put /api/routes': { routes: [{ id: 'all', channels: [] }] },
  'post /api/routes/explain': { labels: { agent: 'a' } },
  'post /api/chat-links': { token: 'x' },
  'post /api/silences': { matchers: ['agent=a'], endsAt: '2036-03-01T00:00:00.000Z', comment: 'x' },
  'put /api/settings': { decisionFailMode: 'allow' },
  'put /api/trees/limits': { limits: { maxDepth: 5 } },
  'post /api/tenants': { id: 'initech' },
  'post /api/guardrails/test': { draft: DRAFT, call: { agentId: 'agent-1', toolName: 'pay', args: { amount: 5 } } },
};

const IDS: Readonly<Record<string, string>> = {
  '/api/prices/overrides/:id': 'price-1',
  '/api/reprices/:id': 'reprice-1',
  '/api/backtests/:id': 'backtest-1',
  '/api/backtests/:id/cancel': 'backtest-1',
  '/api/backtests/:id/findings': 'backtest-1',
  '/api/browser-sessions/:id': 'browser-1',
  '/api/saved-views/:id': 'view-1',
  '/api/guardrails/:id': 'rule-1',
  '/api/guardrails/:id/status': 'rule-1',
  '/api/guardrails/:id/versions': 'rule-1',
  '/api/guardrails/:id/versions/:version': 'rule-1',
  '/api/guardrails/:id/actions': 'rule-1',
  '/api/guardrails/:id/rollout': 'rule-1',
  '/api/guardrails/deliveries/:id': 'delivery-1',
  '/api/guardrails/deliveries/:id/redeliver': 'delivery-1',
  '/api/webhooks/:id': 'webhook-1',
  '/api/webhooks/:id/deliveries': 'webhook-1',
  '/api/channels/:id': 'ops',
  '/api/channels/:id/test': 'ops',
  '/api/alerts/:id': 'alert-1',
  '/api/alerts/:id/call': 'alert-1',
  '/api/alerts/:id/notices': 'alert-1',
  '/api/budgets/:id': 'budget-1',
  '/api/decisions/:id': 'decision-1',
  '/api/events/:id': 'event-1',
  '/api/runs/:id': 'run-1',
  '/api/runs/:id/events': 'run-1',
  '/api/runs/:id/decisions': 'run-1',
  '/api/runs/:id/timeline': 'run-1',
  '/api/runs/:id/timeline/light': 'run-1',
  '/api/runs/:id/tree': 'run-1',
  '/api/runs/:id/labels': 'run-1',
  '/api/runs/:id/labels/:label': 'run-1',
  '/api/erasures/:id': 'erasure-1',
  '/api/sessions/:id': 'run-1',
  '/api/sessions/:id/timeline': 'run-1',
  '/api/agents/:id': 'agent-1',
  '/api/agents/:id/unpause': 'agent-1',
  '/api/agents/:id/health': 'agent-1',
};

/** Required query parameters. */
const QUERIES: Readonly<Record<string, string>> = {
  '/api/health/history': '?agentId=agent-1',
  '/api/search': '?id=agent-1',
  '/api/prices': '?model=gpt-4o',
  '/api/search/text': '?text=needle',
};

/** Needs entries that the sealer made: evidence.e2e.spec.ts of standalone parses these answers. */
const READS_LOG = /^\/api\/log\/|\/evidence$/;

const answering = QUERY_OPERATIONS.filter(
  (op) =>
    op.contentType === undefined &&
    !op.path.startsWith('/api/keys') &&
    op.path !== '/api/session' &&
    // Needs a refused call: refusals.int.spec.ts.
    op.id !== 'judgeRefusal' &&
    // Needs a signed form: slack.int.spec.ts of the dispatcher.
    op.id !== 'takeSlackClick' &&
    // These need a provider and a person who has signed in: people.int.spec.ts, deputies.int.spec.ts, on-call.int.spec.ts.
    !/^\/api\/(auth|me\/keys|me\/logins|me\/deputies\/|on-call\/|identity-providers|people\/|teams\/)/.test(op.path) &&
    // Calls a provider: test-connection.spec.ts.
    op.id !== 'testModelConnection' &&
    !READS_LOG.test(op.path),
);

describe('every route', () => {
  it.each(answering.map((op) => [`${op.method.toUpperCase()} ${op.path}`, op] as const))(
    '%s returns what its schema documents',
    async (_name, op) => {
      const url = op.path
        .replace(':scope', 'run')
        .replace(':version', '1')
        .replace(':name', 'pay')
        .replace(':label', 'pii')
        .replace(':id', IDS[op.path] ?? 'some-id')
        .concat(QUERIES[op.path] ?? '');
      const body = op.method === 'get' ? undefined : (BODIES[`${op.method} ${op.path}`] ?? {});
      const answer = await api.call(op.method.toUpperCase() as 'GET', url, { body });
      expect(answer).toMatchObject({ status: op.status ?? 200 });
      // Strict schemas, so an undocumented member fails.
      expect(op.response.parse(answer.body)).toEqual(answer.body);
    },
  );

  it.each(QUERY_OPERATIONS.filter((op) => op.scope !== null).map((op) => [`${op.method} ${op.path}`, op] as const))(
    '%s requires its scope',
    async (_name, op) => {
      const url = op.path.replace(':scope', 'run').replace(':version', '1').replace(':name', 'pay').replace(':id', 'x');
      const weak = scopesOf(op).includes('admin') ? api.keys.reader.key : api.keys.ingest.key;
      const refused = await api.call(op.method.toUpperCase() as 'GET', url, { key: weak });
      expect(refused).toMatchObject({ status: 403, body: { status: 403, required: scopesOf(op) } });
      expect(refused.headers['cache-control']).toBe('no-store');
      const anonymous = await api.app.inject({ method: op.method.toUpperCase() as 'GET', url });
      expect(anonymous.statusCode).toBe(401);
      expect(anonymous.json()).toMatchObject({
        error: 'Authentication required',
        hint: expect.stringContaining('Bearer'),
      });
      const unknown = await api.call(op.method.toUpperCase() as 'GET', url, { key: 'agk_live_nonsense' });
      expect(unknown).toMatchObject({ status: 401, body: { error: 'Invalid API key', status: 401 } });
      expect(unknown.headers['cache-control']).toBe('no-store');
    },
  );
});

describe('/api/config/features', () => {
  it('lists the features of this server, alerts among them', async () => {
    const { body } = await api.get('/api/config/features');
    expect(body.features).toMatchObject({ guardrails: true, alerts: true, hashChain: false });
  });
});

describe('/openapi.json', () => {
  it('documents the public address, including the gateway, in OpenAPI 3.1', async () => {
    const { body } = await api.get('/openapi.json');
    expect(body.openapi).toBe('3.1.0');
    const paths = Object.entries(body.paths as Record<string, object>);
    const routes = paths.flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
    expect(routes.sort()).toEqual(
      [...OPERATIONS, ...PROBE_OPERATIONS].map((op) => `${op.method} ${op.path.replaceAll(/:(\w+)/g, '{$1}')}`).sort(),
    );
    expect(body.paths['/api/events']).toMatchObject({ get: { tags: ['Events'] }, post: { tags: ['Events'] } });
  });

  it('references only schemas that it contains', async () => {
    const { body } = await api.get('/openapi.json');
    const references = [...JSON.stringify(body).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect(references.length).toBeGreaterThan(20);
    for (const name of references) expect(body.components.schemas).toHaveProperty(String(name));
    expect(JSON.stringify(body)).not.toContain('$defs');
  });

  it('documents numbers as numbers, with their limits and defaults', async () => {
    const { body } = await api.get('/openapi.json');
    const { parameters } = body.paths['/api/guardrails/history'].get;
    const limit = parameters.find((parameter: { name: string }) => parameter.name === 'limit');
    expect(limit).toEqual({
      name: 'limit',
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
    });
  });

  it('documents where a response may be 304', async () => {
    const { body } = await api.get('/openapi.json');
    const { parameters, responses } = body.paths['/v1/rules/bundle'].get;
    expect(parameters).toContainEqual(
      expect.objectContaining({ name: 'If-None-Match', in: 'header', required: false }),
    );
    expect(responses).toMatchObject({ 200: { headers: { ETag: {} } }, 304: { headers: { ETag: {} } } });
    expect(responses[304]).not.toHaveProperty('content');
  });

  it('gives every operation a unique id', async () => {
    const { body } = await api.get('/openapi.json');
    const operations = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      (path) => Object.values(path).map((op) => op.operationId),
    );
    expect(new Set(operations).size).toBe(operations.length);
  });
});
