import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDecisionRow, aRuleRow } from './rows.ts';

let api: OperatorApi;

const findings = (mode: string, effect: string) =>
  JSON.stringify([{ ruleId: 'rule-1', ruleVersion: 1, enabled: true, matched: true, violated: true, effect, mode }]);

beforeAll(async () => {
  api = await startOperatorApi();
  await api.insert('guardrail_rules', aRuleRow());
  await api.insert('decisions', aDecisionRow({ decision_id: 'old' }));
  await api.insert('decisions', aDecisionRow({ decision_id: 'budget', reason: 'budget', budget_id: 'b-1' }));
  await api.insert(
    'decisions',
    aDecisionRow({ decision_id: 'kept', reason: 'rule', arguments: { to: '[email]' }, tool_name: 'mail' }),
  );
  await api.insert(
    'decisions',
    aDecisionRow({
      ...{ decision_id: 'shadow', verdict: 'ALLOW', effect: 'allow', would_have: 'block', cause: { kind: 'ALLOW' } },
      evaluated_rules: findings('shadow', 'block'),
    }),
  );
  for (const day of ['2026-02-28', '2026-03-01']) {
    await api.insert('rule_daily', {
      ...{ tenant_id: 'acme', rule_id: 'rule-1', day, asked: 5, matched: 3, blocked: 1, asked_human: 1, would_have: 1 },
    });
  }
});
afterAll(() => api.close());

const idsOf = async (query: string) =>
  (await api.get(`/api/decisions?${query}`)).body.decisions.map(({ id }: { id: string }) => id);

describe('decisions of all runs', () => {
  it.each([
    ['reason=budget', ['budget']],
    ['budgetId=b-1', ['budget']],
    ['reason=rule,budget', ['kept', 'budget']],
    ['wouldHave=block', ['shadow']],
    ['mode=shadow', ['shadow']],
    ['mode=enforce&ruleId=rule-1', ['old', 'kept', 'budget']],
    ['mode=shadow&ruleId=other', []],
    ['toolName=mail', ['kept']],
  ])('with %s', async (query, expected) => {
    expect(await idsOf(query)).toEqual(expected);
  });

  it('show the stored part of the call and what a shadow rule would have done', async () => {
    const { decisions } = (await api.get('/api/decisions')).body;
    const byId = new Map(decisions.map((decision: { id: string }) => [decision.id, decision]));
    expect(byId.get('kept')).toMatchObject({ arguments: { to: '[email]' }, reason: 'rule' });
    expect(byId.get('kept')).not.toHaveProperty('wouldHave');
    expect(byId.get('shadow')).toMatchObject({ verdict: 'ALLOW', effect: 'allow', wouldHave: 'block' });
    expect(byId.get('old')).not.toHaveProperty('reason');
  });
});

describe('who decided', () => {
  const asked = { by: 'evaluator', asked: 'counted', askedForRule: 'rule-2' };

  beforeAll(async () => {
    await api.insert('decisions', aDecisionRow({ decision_id: 'asked', run_id: 'other', decider: asked }));
    await api.insert('guardrail_rules', {
      ...aRuleRow({ rule_id: 'rule-2', name: 'Two pays', agent_id: null, action_type: 'block', action_config: {} }),
      ...{ condition_type: 'max_calls', condition_config: { tools: ['pay'], max: 2 } },
    });
    const at = (hour: string, path: string, decisions: number, reason = '', rule_id = '', tenant_id = 'acme') =>
      api.insert('decision_paths', { tenant_id, hour, path, decisions, asked: reason, rule_id });
    await at('2026-03-01T11:00:00Z', 'gateway', 30);
    await at('2026-03-01T12:00:00Z', 'gateway', 40);
    await at('2026-03-01T12:00:00Z', 'evaluator', 20, 'counted', 'rule-2');
    await at('2026-03-01T12:00:00Z', 'evaluator', 5, 'needs_state', 'deleted');
    await at('2026-03-01T12:00:00Z', 'evaluator', 4, 'first');
    await at('2026-03-01T12:00:00Z', 'unanswered', 1, 'first');
    await at('2026-02-27T12:00:00Z', 'gateway', 1_000);
    await at('2026-03-01T12:00:00Z', 'gateway', 1_000, '', '', 'globex');
  });

  it('is part of a decision, unless an earlier version made it', async () => {
    const { status, body } = await api.get('/api/decisions/asked');
    expect([status, body.decider]).toEqual([200, asked]);
    expect((await api.get('/api/decisions/old')).body).not.toHaveProperty('decider');
    expect((await api.get('/api/decisions/none')).status).toBe(404);
  });

  it('is counted for a day, with reasons and advice', async () => {
    const { body } = await api.get('/api/decision-paths');
    expect(body).toEqual({
      ...{ from: '2026-02-28T12:00:00.000Z', gateway: 70, evaluator: 29, unanswered: 1 },
      asked: [
        {
          ...{
            reason: 'counted',
            why: 'a rule counts the call',
            decisions: 20,
            ruleId: 'rule-2',
            ruleName: 'Two pays',
          },
          advice: '"Two pays" counts calls of every agent. Limit it to one agent.',
        },
        {
          ...{ reason: 'needs_state', why: 'a rule needs earlier calls or agent tags', decisions: 5 },
          ruleId: 'deleted',
        },
        { reason: 'first', why: 'the first call of a run in 30 seconds', decisions: 4 },
      ],
    });
  });

  it('is counted for a range of hours', async () => {
    const range = 'from=2026-03-01T10:30:00Z&to=2026-03-01T12:00:00Z';
    const { body } = await api.get(`/api/decision-paths?${range}`);
    expect(body).toMatchObject({ from: '2026-03-01T10:00:00.000Z', gateway: 30, evaluator: 0, asked: [] });
    const { status } = await api.get('/api/decision-paths?from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z');
    expect(status).toBe(400);
  });
});

describe('the status of a decision rule', () => {
  it('has counts by day, newest first', async () => {
    const { days } = (await api.get('/api/guardrails/rule-1/status')).body;
    expect(days).toEqual([
      { day: '2026-03-01', asked: 5, matched: 3, blocked: 1, askedHuman: 1, wouldHave: 1 },
      { day: '2026-02-28', asked: 5, matched: 3, blocked: 1, askedHuman: 1, wouldHave: 1 },
    ]);
  });

  it('hold a call that is asked again while it waits as one decision', async () => {
    const waiting = { run_id: 'waits', approval_id: 'approval', effect: 'ask', cause: { kind: 'HITL_PENDING' } };
    for (const n of [1, 2, 3])
      await api.insert('decisions', aDecisionRow({ ...waiting, decision_id: `w-${n}`, asked_again: n > 1 }));
    const asked = [{ id: 'w-1', askedTimes: 3 }];
    const { decisions } = (await api.get('/api/decisions?runId=waits')).body;
    expect(decisions).toMatchObject(asked);
  });
});
