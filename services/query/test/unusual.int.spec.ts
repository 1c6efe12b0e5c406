import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDecisionRow, anActivityRow, anAlertRow, anAuditRow, aRuleRow, aRuleVersionRow, aRunRow } from './rows.ts';

let api: OperatorApi;

const minute = (n: number) => new Date(Date.parse(NOW) + n * 60_000).toISOString();
const unusual = async () => (await api.get('/api/now')).body.unusual;

beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api.close());

describe('what differs from before', () => {
  it('is nothing at first', async () => {
    expect(await unusual()).toEqual({ changedRules: [], spend: null, errors: null, loops: [], unanswerable: 0 });
  });

  it('names a rule that stops more since it changed, with author and deploy, and no other rule', async () => {
    const stops = { would_stop: 0, bypassed: 0 };
    for (const [id, version] of [['tight', 2] as const, ['same', 2] as const, ['old', 2] as const]) {
      const changed = id === 'old' ? minute(-2_000) : minute(-20);
      await api.insert('guardrail_rules', aRuleRow({ rule_id: id, name: id, version, mode: 'enforce' }));
      const at = { rule_id: id, version, changed_at: changed, changed_by: 'Ada' };
      await api.insert('rule_versions', aRuleVersionRow(at));
      const counted = { tenant_id: 'acme', rule_id: id, ...stops };
      const before = id === 'same' ? 100 : 1;
      const earlier = { rule_version: 1, minute: minute(id === 'old' ? -2_100 : -60) };
      await api.insert('rule_minutes', { ...counted, ...earlier, asked: 100, enforced: 100, stopped: before });
      await api.insert('rule_minutes', {
        ...{ ...counted, rule_version: 2, minute: minute(-10), asked: 20, enforced: 20, stopped: 20 },
      });
    }
    const deploy = { kind: 'deploy.recorded', target: 'deploy', at: minute(-21) };
    await api.insert('audit_entries', anAuditRow({ ...deploy, after: { version: '3.1.0', agentId: 'billing' } }));
    expect((await unusual()).changedRules).toEqual([
      {
        ...{ ruleId: 'tight', name: 'tight', version: 2, changedAt: minute(-20), changedBy: 'Ada' },
        ...{ asked: 20, stopped: 20, askedBefore: 100, stoppedBefore: 1, deploy: '3.1.0 of billing' },
      },
    ]);
  });

  it('compares spend with the mean hour of the last day, and with this hour of earlier days once they are known', async () => {
    const hour = (n: number, usd: number) =>
      api.insert('activity', anActivityRow({ grain: 'hour', bucket: minute(n * 60), cost_usd: usd }));
    await api.insert('activity', anActivityRow({ grain: 'minute', bucket: minute(-5), cost_usd: 15 }));
    expect((await unusual()).spend).toBeNull();
    for (const n of [-3, -4, -5]) await hour(n, 1);
    expect((await unusual()).spend).toEqual({ usd: 15, usualUsd: 1, of: 'last day' });
    for (const day of [-1, -2, -3]) await hour(day * 24, 0.5);
    expect((await unusual()).spend).toEqual({ usd: 15, usualUsd: 0.5, of: 'this hour' });
    for (const day of [-4, -5, -6, -7]) await hour(day * 24, 14);
    expect((await unusual()).spend).toBeNull();
  });

  it('compares errors in the same way', async () => {
    const errors = (grain: 'minute' | 'hour', n: number, error_count: number) =>
      api.insert(
        'activity',
        anActivityRow({ tenant_id: 'globex', grain, bucket: minute(n), error_count, cost_usd: 0 }),
      );
    const found = async () => (await api.get('/api/now', api.keys.foreign.key)).body.unusual.errors;
    for (const n of [-3, -4, -5]) await errors('hour', n * 60, 2);
    await errors('minute', -5, 19);
    expect(await found()).toBeNull();
    await errors('minute', -6, 21);
    expect(await found()).toEqual({ errors: 40, usualErrors: 2, of: 'last day' });
    for (const day of [-1, -2, -3]) await errors('hour', day * 24 * 60, 10);
    expect(await found()).toBeNull();
  });

  it('finds runs that repeat one call, and approvals of runs that have stopped', async () => {
    const calls = (runId: string, digest: (n: number) => string) =>
      Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          api.insert(
            'decisions',
            aDecisionRow({
              ...{ decision_id: `${runId}-${n}`, run_id: runId, agent_id: 'research-bot', tool_name: 'search' },
              ...{ inputs_digest: digest(n), decided_at: minute(-5 + n / 20) },
            }),
          ),
        ),
      );
    await calls('loops', () => 'same');
    await calls('works', (n) => `other-${n}`);
    expect((await unusual()).loops).toEqual([
      { runId: 'loops', agentId: 'research-bot', toolName: 'search', times: 20, since: minute(-5) },
    ]);
    await api.insert('runs', aRunRow({ run_id: 'stopped', status: 'interrupted' }));
    await api.insert('runs', aRunRow({ run_id: 'waits', status: 'running' }));
    for (const runId of ['stopped', 'waits'])
      await api.insert('alerts', anAlertRow({ alert_id: runId, kind: 'approval', run_id: runId, binding: runId }));
    expect((await unusual()).unanswerable).toBe(1);
  });
});
