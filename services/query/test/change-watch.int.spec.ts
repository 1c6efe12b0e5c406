import { COMMANDS } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChangeWatch } from '../src/now/change-watch.ts';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDecisionRow, anActivityRow, anAlertRow, aRuleRow, aRuleVersionRow } from './rows.ts';

let api: OperatorApi;

const minute = (n: number) => new Date(Date.parse(NOW) + n * 60_000).toISOString();

/** What is reported in one look at every tenant. */
async function reported() {
  const reports: unknown[] = [];
  const serving = await api.bus.serve(COMMANDS.reportChanges, async (report) => {
    reports.push(report);
    return granted({ ended: 0 });
  });
  await api.app.get(ChangeWatch).check();
  await serving.close();
  return reports;
}

beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api.close());

describe('the watch for changes', () => {
  it('reports nothing of tenants in which nothing happens', async () => {
    expect(await reported()).toEqual([]);
  });

  it('reports that nothing differs while an alert is open, so that it ends', async () => {
    await api.insert(
      'alerts',
      anAlertRow({ alert_id: 'open', tenant_id: 'globex', kind: 'change', status: 'pending' }),
    );
    expect(await reported()).toEqual([{ tenantId: 'globex', asOf: NOW, changes: [] }]);
  });

  it('reports a rule, unusual spend and a loop, each under a name that stays the same', async () => {
    await api.insert(
      'guardrail_rules',
      aRuleRow({
        rule_id: 'tight',
        name: 'Invoices',
        version: 2,
        mode: 'enforce',
        ruleset: 'finance',
        key: 'invoices',
      }),
    );
    await api.insert(
      'rule_versions',
      aRuleVersionRow({ rule_id: 'tight', version: 2, changed_at: minute(-20), changed_by: 'Ada' }),
    );
    const counted = { tenant_id: 'acme', rule_id: 'tight', would_stop: 0, bypassed: 0 };
    for (const [rule_version, at, stopped] of [
      [1, -60, 2],
      [2, -10, 100],
    ] as const)
      await api.insert('rule_minutes', {
        ...counted,
        rule_version,
        minute: minute(at),
        asked: 100,
        enforced: 100,
        stopped,
      });
    await api.insert('activity', anActivityRow({ grain: 'minute', bucket: minute(-5), cost_usd: 15, error_count: 40 }));
    for (const hour of [-3, -4, -5])
      await api.insert('activity', anActivityRow({ grain: 'hour', bucket: minute(hour * 60), cost_usd: 1 }));
    for (let n = 0; n < 20; n++)
      await api.insert(
        'decisions',
        aDecisionRow({
          decision_id: `loop-${n}`,
          run_id: 'loops',
          agent_id: 'research-bot',
          tool_name: 'search',
          inputs_digest: 'same',
          decided_at: minute(-5 + n / 20),
        }),
      );
    const [acme] = await reported();
    expect(acme).toEqual({
      tenantId: 'acme',
      asOf: NOW,
      changes: [
        {
          about: 'tight v2',
          at: minute(-20),
          ruleId: 'tight',
          agentId: 'all-agents',
          severity: 'error',
          title: 'The rule "Invoices" stops 100 % of its calls since it changed',
          message: expect.stringMatching(
            /^Version 2 by Ada stopped 100 of 100 .* Before, it stopped 2 % .* agentlens rules revert tight 1 --reason "<why>"$/,
          ),
        },
        {
          about: 'spend',
          at: NOW,
          agentId: 'all-agents',
          severity: 'error',
          title: 'Spend is 15 times the hourly mean of the last day',
          message: expect.stringMatching(/^\$15\.00 in the last hour; .* is \$1\.00\./),
        },
        {
          about: 'errors',
          at: NOW,
          agentId: 'all-agents',
          severity: 'error',
          title: 'Errors are 40 times the hourly mean of the last day',
          message: expect.stringMatching(
            /^40 errors in the last hour; .* is 1\. Which runs: agentlens runs list --errors/,
          ),
        },
        {
          about: 'loop search',
          at: NOW,
          runId: 'loops',
          agentId: 'research-bot',
          severity: 'warn',
          title: 'A run repeats one call of search',
          message: expect.stringContaining('agentlens runs kill loops'),
        },
      ],
    });
  });

  it('goes on with other tenants if the owner of alerts does not answer', async () => {
    await expect(api.app.get(ChangeWatch).check()).resolves.toBeUndefined();
  });
});
