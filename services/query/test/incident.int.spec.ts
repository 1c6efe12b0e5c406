import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDecisionRow, aDeliveryRow, anActivityRow, anAlertRow, anAuditRow, aRuleRow, aWebhookRow } from './rows.ts';

let api: OperatorApi;

const RULE = {
  ...{ name: 'Invoices', mode: 'enforce', actionType: 'block', actionConfig: {} },
  ...{ conditionType: 'tool_argument', conditionConfig: { path: 'eur', type: 'number', operator: 'gt', value: 5 } },
};
const KILLED = { message: { type: 'control.order', data: { state: 'killed' } } };

const minute = (n: number) => new Date(Date.parse(NOW) + n * 60_000).toISOString();

beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api.close());

describe('an incident', () => {
  it('says that nothing happened', async () => {
    const { body } = await api.get(`/api/incident?from=${minute(-60)}&to=${minute(-1)}`);
    expect(body).toMatchObject({ changes: [], refusals: [], approvals: [], notices: [], costs: [] });
    expect(body.markdown.match(/None\./g)).toHaveLength(5);
  });

  it('has the changes, refusals, approvals, notices and costs of its time, as data and as a document', async () => {
    await api.insert('webhook_endpoints', aWebhookRow({ webhook_id: 'on-call', name: 'on-call' }));
    await api.insert('guardrail_rules', aRuleRow({ rule_id: 'r', name: 'Invoices | above 50' }));
    for (const at of [-30, -600]) {
      const id = `at${at}`;
      const change = {
        entry_id: id,
        at: minute(at),
        kind: 'rule.changed',
        target: 'rule',
        target_id: 'r',
        person: 'Ada',
        before: { ...RULE, mode: 'shadow', version: 1 },
        after: { ...RULE, version: 2 },
      };
      await api.insert('audit_entries', anAuditRow({ ...change, reason: 'lower it' }));
      const refused = { decision_id: id, decided_at: minute(at), final_rule_id: 'r', reason: 'rule' };
      await api.insert('decisions', aDecisionRow({ ...refused, arguments: { eur: 20 } }));
      await api.insert('alerts', anAlertRow({ alert_id: id, created_at: minute(at), binding: id, title: 'Pay this?' }));
      const notice = { webhook_id: 'on-call', agent_id: 'canary-bot', action_type: 'webhook', action_config: KILLED };
      await api.insert('deliveries', aDeliveryRow({ delivery_id: id, created_at: minute(at), ...notice }));
      await api.insert('activity', anActivityRow({ grain: 'minute', bucket: minute(at), cost_usd: 1.5 }));
    }
    const { body } = await api.get(`/api/incident?from=${minute(-60)}&to=${minute(-1)}`);
    expect(body).toMatchObject({
      changes: [{ id: 'at-30', reason: 'lower it' }],
      refusals: [{ ruleId: 'r', calls: 1 }],
      approvals: [{ id: 'at-30' }],
      notices: [{ at: minute(-30), result: 'success', event: 'control.order', status: 'killed' }],
      costs: [{ agentId: 'agent-1', costUsd: 1.5 }],
    });
    expect(body.markdown).toContain('| rule.changed | Invoices, v2 | Ada | Mode: shadow → enforce | lower it |');
    expect(body.markdown).toContain('| on-call | canary-bot: killed | success |');
    // What people named is no markup.
    expect(body.markdown).toContain('Invoices \\| above 50 | 1 |');
    expect(body.markdown).toContain('pay eur 20');
    expect(body.markdown).toContain('| agent-1 | 1.50 |');
  });
});
