import { COMMANDS } from '@agentlens/contracts';
import { aRule } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aRuleRow, aRuleVersionRow } from './rows.ts';

let api: OperatorApi;

beforeAll(async () => {
  api = await startOperatorApi();
  await api.insert('guardrail_rules', aRuleRow({ version: 3 }));
  const secret = api.platform.secrets.seal('whsec_0123456789abcdef', ['acme', 'guardrail_rules', 'rule-1']);
  const first = aRule({
    id: 'rule-1',
    actionType: 'notify_webhook',
    actionConfig: { url: 'https://a.example', secret },
  });
  const changes = JSON.stringify([{ path: 'actionConfig.secret', secret: true }]);
  await api.insert('rule_versions', aRuleVersionRow({ version: 1, body: first }));
  await api.insert('rule_versions', aRuleVersionRow({ version: 2, changes, changed_by: null }));
  await api.insert('rule_versions', aRuleVersionRow({ version: 3, deleted: true, reason: 'not needed' }));
});
afterAll(() => api.close());

describe('versions of a rule', () => {
  it('are listed newest first, in pages', async () => {
    const first = (await api.get('/api/guardrails/rule-1/versions?limit=2')).body;
    const common = { ruleId: 'rule-1', changedAt: NOW, source: 'api', deleted: false, changes: [] };
    expect(first.versions).toEqual([
      { ...common, version: 3, changedBy: 'ops (key-1)', deleted: true, reason: 'not needed' },
      { ...common, version: 2, changes: [{ path: 'actionConfig.secret', secret: true }] },
    ]);
    const second = (await api.get(`/api/guardrails/rule-1/versions?limit=2&cursor=${first.nextCursor}`)).body;
    expect(second).toMatchObject({ versions: [{ version: 1 }], hasMore: false });
  });

  it('show the rule at that version with its secrets masked', async () => {
    const { body } = await api.get('/api/guardrails/rule-1/versions/1');
    expect(body.rule.actionConfig).toEqual({ url: 'https://a.example', secret: '***cdef' });
  });

  it.each([
    ['/api/guardrails/rule-1/versions/9', 404],
    ['/api/guardrails/nobody/versions', 404],
    ['/api/guardrails/rule-1/versions/first', 400],
  ])('%s is answered %i', async (url, status) => {
    expect(await api.get(url)).toMatchObject({ status });
  });
});

describe.each(['PUT', 'PATCH'] as const)('a change of a rule by %s', (method) => {
  const change = (headers: Record<string, string>) =>
    api.call(method, '/api/guardrails/rule-1', { body: { priority: 1 }, headers });

  it('contains exactly the submitted members', async () => {
    const bodies: unknown[] = [];
    const owner = await api.bus.serve(COMMANDS.updateRule, async ({ body }) => {
      bodies.push(body);
      return granted(aRule({ version: 4 }));
    });
    await change({});
    await owner.close();
    expect(bodies).toEqual([{ priority: 1 }]);
  });

  it('names the expected version, and learns the current one from the error', async () => {
    const asked: unknown[] = [];
    const problem = { error: 'The rule changed meanwhile', status: 412, currentVersion: 3 };
    const owner = await api.bus.serve(COMMANDS.updateRule, async ({ ifVersion }) => {
      asked.push(ifVersion);
      return ifVersion === 2 ? { ok: false as const, problem } : granted(aRule({ version: 4 }));
    });
    const refused = await change({ 'if-match': '"2"' });
    expect(refused).toMatchObject({ status: 412, body: { code: 'version_conflict', currentVersion: 3 } });
    expect(refused.headers.etag).toBe('"3"');
    for (const tag of ['W/"3"', '"3"', '*']) {
      const { status, headers } = await change({ 'if-match': tag });
      expect([status, headers.etag]).toEqual([200, '"4"']);
    }
    await change({});
    await owner.close();
    expect(asked).toEqual([2, 3, 3, undefined, undefined]);
  });

  it.each(['3', '"three"', '"3", "4"'])('with If-Match: %s is rejected with the expected format', async (tag) => {
    expect(await change({ 'if-match': tag })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'headers.if-match', message: expect.stringContaining('"7"') }] },
    });
  });

  it('accepts the ETag of the rule as version', async () => {
    const { headers } = await api.get('/api/guardrails/rule-1');
    expect(headers.etag).toBe('"3"');
  });

  it('back to a version is forwarded with the author and the reason', async () => {
    const asked: unknown[] = [];
    const owner = await api.bus.serve(COMMANDS.revertRule, async (question) => {
      asked.push(question);
      return granted(aRule({ version: 4 }));
    });
    const body = { version: 1, reason: 'too loud' };
    const { status } = await api.call('POST', '/api/guardrails/rule-1/revert', {
      body,
      headers: { 'if-match': '"3"' },
    });
    await owner.close();
    expect(status).toBe(200);
    const by = `admin (${api.keys.admin.id})`;
    expect(asked).toMatchObject([{ tenantId: 'acme', ruleId: 'rule-1', ...body, by, ifVersion: 3 }]);
    expect(await api.call('POST', '/api/guardrails/rule-1/revert', { body: { version: 0 } })).toMatchObject({
      status: 400,
    });
  });
});

describe('the rollout of a rule', () => {
  beforeAll(async () => {
    const rule = { rule_id: 'watched', version: 4, meaning_version: 2, mode: 'canary', action_type: 'block' };
    await api.insert('guardrail_rules', aRuleRow({ ...rule, rollout: JSON.stringify({ percent: 10, by: 'tree' }) }));
    const versions = [
      { version: 2, changed_at: '2026-02-28T12:00:00.000Z' },
      { version: 3, source: 'rollback', reason: 'Taken back: 7 % of 84 calls' },
    ];
    for (const version of versions)
      await api.insert('rule_versions', aRuleVersionRow({ rule_id: 'watched', ...version }));
    const minute = { tenant_id: 'acme', rule_id: 'watched', minute: '2026-03-01T11:00:00.000Z' };
    const counts = { asked: 100, enforced: 10, stopped: 1, would_stop: 3, bypassed: 2 };
    await api.insert('rule_minutes', { ...minute, ...counts, rule_version: 1 });
    await api.insert('rule_minutes', { ...minute, ...counts, rule_version: 3 });
    await api.insert('rule_daily', {
      ...{ tenant_id: 'acme', rule_id: 'watched', day: '2026-03-01', asked: 100, matched: 4 },
      ...{ blocked: 1, asked_human: 0, would_have: 3 },
    });
  });

  it('shows the figures since its meaning changed, what the guard requires, and what was taken back', async () => {
    const { status, body } = await api.get('/api/guardrails/watched/rollout');
    expect([status, body]).toEqual([
      200,
      {
        ...{ ruleId: 'watched', version: 4, mode: 'canary', percent: 10, since: '2026-02-28T12:00:00.000Z' },
        ...{ asked: 100, enforced: 10, stopped: 1, wouldStop: 3, bypassed: 2, judged: 0, harmless: 0 },
        ...{ stopRate: 0.04, bypassRate: 0.02, falseRejectionRate: null },
        byDay: [{ day: '2026-03-01', asked: 100, stopped: 1, wouldStop: 3 }],
        guard: {
          ok: false,
          unmet: ['minAsked', 'maxStopRate', 'maxBypassRate'].map((field) => ({
            path: `guard.${field}`,
            message: expect.any(String),
          })),
        },
        rollbacks: [{ version: 3, at: NOW, reason: 'Taken back: 7 % of 84 calls' }],
      },
    ]);
    expect(await api.get('/api/guardrails/watched/rollout', api.keys.foreign.key)).toMatchObject({ status: 404 });
  });

  it('is changed by its owner, which learns the author, the expected version and the reason', async () => {
    const asked: unknown[] = [];
    const promoting = await api.bus.serve(COMMANDS.promoteRule, async (question) => {
      asked.push(question);
      return granted(aRule({ version: 5 }));
    });
    const suspending = await api.bus.serve(COMMANDS.suspendRule, async (question) => {
      asked.push(question);
      return granted(aRule({ version: 6 }));
    });
    const body = { to: 'canary', percent: 25, reason: 'quiet' };
    const promoted = await api.call('POST', '/api/guardrails/watched/promote', {
      body,
      headers: { 'if-match': '"4"' },
    });
    const suspension = { until: '2026-03-01T18:00:00Z', reason: 'incident' };
    const suspended = await api.call('POST', '/api/guardrails/watched/suspend', { body: suspension });
    await promoting.close();
    await suspending.close();
    expect([promoted.status, promoted.headers.etag, suspended.status]).toEqual([200, '"5"', 200]);
    const by = `admin (${api.keys.admin.id})`;
    expect(asked).toMatchObject([
      { tenantId: 'acme', ruleId: 'watched', ifVersion: 4, by, promotion: { ...body, force: false } },
      { ruleId: 'watched', by, reason: 'incident', suspended: { until: '2026-03-01T18:00:00.000Z' } },
    ]);
  });

  it.each([
    ['promote', { to: 'canary', percent: 101 }, 'percent'],
    ['promote', { to: 'enforce', force: true }, 'reason'],
    ['suspend', { until: 'tomorrow', reason: 'x' }, 'until'],
    ['suspend', { until: null, reason: ' ' }, 'reason'],
  ])('rejects %s with %j and names %s', async (verb, body, path) => {
    const answer = await api.call('POST', `/api/guardrails/watched/${verb}`, { body });
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: expect.stringContaining(path) }] } });
    expect(await api.call('POST', `/api/guardrails/watched/${verb}`, { body, key: api.keys.reader.key })).toMatchObject(
      {
        status: 403,
      },
    );
  });
});
