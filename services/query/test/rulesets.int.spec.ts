import { COMMANDS } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aRuleRow, aRuleVersionRow } from './rows.ts';

let api: OperatorApi;

beforeAll(async () => {
  api = await startOperatorApi();
  const managed = { ruleset: 'payments', applied_version: 1 };
  await api.insert('guardrail_rules', aRuleRow({ ...managed, rule_id: 'r1', key: 'large' }));
  await api.insert('guardrail_rules', aRuleRow({ ...managed, rule_id: 'r2', key: 'many', version: 2 }));
  await api.insert('guardrail_rules', aRuleRow({ ...managed, rule_id: 'r3', key: 'gone', deleted_at: NOW }));
  await api.insert('guardrail_rules', aRuleRow({ rule_id: 'r4' }));
  const changes = JSON.stringify([{ path: 'priority', from: 0, to: 7 }]);
  await api.insert('rule_versions', aRuleVersionRow({ rule_id: 'r2', version: 1 }));
  await api.insert('rule_versions', aRuleVersionRow({ rule_id: 'r2', version: 2, changes, reason: 'incident' }));
});
afterAll(() => api.close());

describe('rulesets', () => {
  it('are listed with the number of rules that drifted', async () => {
    const { body } = await api.get('/api/rulesets');
    expect(body).toEqual({ rulesets: [{ name: 'payments', rules: 2, drifted: 1 }] });
  });

  it('show who changed which of their rules', async () => {
    const { body } = await api.get('/api/rulesets/payments');
    expect(body.rules).toEqual([
      { key: 'large', ruleId: 'r1', name: 'Too many errors', version: 1, appliedVersion: 1, drift: [] },
      expect.objectContaining({
        key: 'many',
        drift: [
          {
            ...{ version: 2, changedAt: NOW, changedBy: 'ops (key-1)', reason: 'incident' },
            changes: [{ path: 'priority', from: 0, to: 7 }],
          },
        ],
      }),
    ]);
    expect(await api.get('/api/rulesets/nobodys')).toMatchObject({ status: 404 });
    expect(await api.get('/api/rulesets/No%20Name')).toMatchObject({ status: 400 });
    expect(await api.get('/api/rulesets/payments', api.keys.foreign.key)).toMatchObject({ status: 404 });
  });

  it("are applied in the name of the key, and return the owner's validation errors", async () => {
    const asked: unknown[] = [];
    const plan = { ruleset: 'payments', basis: {}, changes: [], unlisted: [], problems: [] };
    const owner = await api.bus.serve(COMMANDS.applyRuleset, async (question) => {
      asked.push(question);
      return granted(plan);
    });
    const body = { rules: 'none' };
    expect(await api.call('POST', '/api/rulesets/payments/apply', { body })).toMatchObject({ status: 200, body: plan });
    await owner.close();
    expect(asked).toMatchObject([{ tenantId: 'acme', ruleset: 'payments', body, by: `admin (${api.keys.admin.id})` }]);
  });

  it('pass the reason of an override to the owner of the rule', async () => {
    const asked: unknown[] = [];
    const owner = await api.bus.serve(COMMANDS.deleteRule, async (question) => {
      asked.push(question);
      return granted({ ok: true as const });
    });
    const wide = `UTF-8''${encodeURIComponent('停止，因为')}`;
    await api.call('DELETE', '/api/guardrails/r1', { headers: { 'x-agentlens-override': wide } });
    expect(asked.pop()).toMatchObject({ override: '停止，因为' });
    await api.call('DELETE', '/api/guardrails/r1', { headers: { 'x-agentlens-override': 'incident' } });
    await owner.close();
    expect(asked).toMatchObject([{ ruleId: 'r1', override: 'incident' }]);
  });
});
