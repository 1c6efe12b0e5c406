import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDecisionRow, aRuleRow, aRunRow } from './rows.ts';

let api: OperatorApi;

const minute = (n: number) => new Date(Date.parse(NOW) + n * 60_000).toISOString();
const finding = (ruleVersion: number) =>
  JSON.stringify([
    {
      ...{ ruleId: 'limit', ruleVersion, enabled: true, matched: true, violated: true },
      ...{ effect: 'block', mode: 'enforce' },
    },
  ]);

beforeAll(async () => {
  api = await startOperatorApi();
  await api.insert('guardrail_rules', aRuleRow({ rule_id: 'limit', name: 'Invoices above 50 EUR', version: 2 }));
  await api.insert('runs', aRunRow({ run_id: 'run-a', actor_id: 'ann' }));
  const refused = {
    ...{ run_id: 'run-a', agent_id: 'billing-bot', tool_name: 'create_invoice', verdict: 'BLOCK', effect: 'block' },
    ...{ reason: 'rule', final_rule_id: 'limit', cause: { kind: 'RULE_VIOLATION', ruleId: 'limit' } },
  };
  const insert = (id: string, at: number, fields: object) =>
    api.insert('decisions', aDecisionRow({ ...refused, decision_id: id, decided_at: minute(at), ...fields }));
  for (const [n, eur] of [20, 30, 40].entries())
    await insert(`v2-${n}`, -n - 1, { evaluated_rules: finding(2), arguments: { eur, note: { deep: 1 } } });
  await insert('v1-0', -30, { evaluated_rules: finding(1), arguments: { eur: 9_000 }, run_id: 'run-b' });
  await insert('old', -3_000, { evaluated_rules: finding(1) });
  await insert('waits', -1, { cause: { kind: 'HITL_PENDING', approvalId: 'a' }, effect: 'ask' });
  await insert('fine', -1, { verdict: 'ALLOW', effect: 'allow', final_rule_id: null });
});
afterAll(() => api.close());

const refusals = async (query = '') => (await api.get(`/api/refusals${query}`)).body;

describe('refused calls', () => {
  it('are grouped by the version that refused them, with call, user and run', async () => {
    const { groups, complete } = await refusals();
    expect(complete).toBe(true);
    const common = { ruleId: 'limit', ruleName: 'Invoices above 50 EUR', reason: 'rule', right: 0, wrong: 0 };
    expect(groups).toMatchObject([
      { ...common, ruleVersion: 2, calls: 3, runs: 1, actors: 1, firstAt: minute(-3), lastAt: minute(-1) },
      { ...common, ruleVersion: 1, calls: 1, runs: 1, actors: 0 },
    ]);
    expect(groups[0].newest.map((one: { arguments: string }) => one.arguments)).toEqual(['eur 20', 'eur 30', 'eur 40']);
    expect(groups[0].newest[0]).toMatchObject({
      ...{ decisionId: 'v2-0', at: minute(-1), runId: 'run-a', agentId: 'billing-bot', actor: 'ann' },
      toolName: 'create_invoice',
    });
    expect((await refusals('?agentId=other')).groups).toEqual([]);
  });

  it('are judged in place; the latest judgement stands and is in the audit', async () => {
    const judge = (id: string, body: object) => api.call('POST', `/api/decisions/${id}/judgement`, { body });
    expect((await judge('v2-0', { judgement: 'right' })).status).toBe(200);
    const { body } = await judge('v2-0', { judgement: 'wrong', reason: 'a typing error' });
    expect(body).toMatchObject({ decisionId: 'v2-0', judgement: 'wrong', reason: 'a typing error' });
    const [group] = (await refusals('?ruleId=limit')).groups;
    expect(group).toMatchObject({
      right: 0,
      wrong: 1,
      newest: [{ judged: { judgement: 'wrong', reason: 'a typing error' } }, {}, {}],
    });
    const { entries } = (await api.get('/api/audit?kind=decision.judged')).body;
    expect(entries).toMatchObject([{ targetId: 'v2-0' }, { targetId: 'v2-0' }]);
    expect((await judge('fine', { judgement: 'wrong' })).status).toBe(422);
    expect((await judge('unknown', { judgement: 'wrong' })).status).toBe(404);
    expect((await judge('v2-0', { judgement: 'maybe' })).status).toBe(400);
  });
});
