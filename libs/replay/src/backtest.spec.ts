import type { AgentEvent, GuardrailRule } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type BacktestQuestion, RuleBacktest } from './backtest.ts';
import { Replay } from './replay.ts';
import { ArrivalOrder, decisionOfRow, type StoredDecisionRow, type StoredEventRow } from './stored-history.ts';

const NOON = Date.parse('2026-03-01T12:00:00.000Z');
const at = (offsetMs: number) => new Date(NOON + offsetMs).toISOString();

const aRule = (fields: Partial<GuardrailRule>): GuardrailRule => ({
  ...{ id: 'r', tenantId: 'acme', version: 3, name: 'Rule', enabled: true, cooldownMinutes: 1, dryRun: false },
  ...{ direction: 'both', priority: 0, mode: 'enforce', onMissing: 'block', onUnavailable: 'allow' },
  ...{ conditionType: 'error_rate_threshold', conditionConfig: { threshold: 50, windowMinutes: 1, minEvents: 2 } },
  ...{ actionType: 'pause_agent', actionConfig: {}, createdAt: at(0), updatedAt: at(0), ...fields },
});

const aRow = (fields: Partial<StoredEventRow>): StoredEventRow => ({
  ...{ event_id: 'e', occurred_at: at(0), received_at: at(0), run_id: 'run', agent_id: 'a', session_id: null },
  ...{ kind: 'tool.completed', dialect: 'agentlens', source_type: 'tool_response', severity: 'info', is_error: false },
  ...{ tool_name: 't', call_id: null, model: null, provider: null, input_tokens: null, output_tokens: null },
  ...{ total_tokens: null, cost_usd: null, latency_ms: null, tags: [], payload: {}, metadata: {}, ...fields },
});

/** The event as the evaluator received it. */
const liveEvent = (row: StoredEventRow): AgentEvent => ({
  ...{ id: row.event_id, agentId: row.agent_id, runId: row.run_id, kind: row.kind as AgentEvent['kind'] },
  ...{ dialect: 'agentlens', sourceType: row.source_type, severity: 'info', isError: row.is_error },
  ...{ occurredAt: row.occurred_at, retryable: false, hash: 'h', toolName: 't', payload: {}, metadata: {} },
  ...(row.cost_usd === null ? {} : { usage: { costUsd: row.cost_usd } }),
});

const question = (rule: GuardrailRule, fields: Partial<BacktestQuestion> = {}): BacktestQuestion => ({
  ...{ tenantId: 'acme', rule, from: at(-3_600_000), assume: 'as_happened', ...fields },
});

async function replayed(rule: GuardrailRule, rows: readonly StoredEventRow[], pageRows: number) {
  const test = new RuleBacktest(question(rule));
  const order = new ArrivalOrder('acme');
  const stored = [...rows].sort((a, b) => (`${a.occurred_at}${a.event_id}` < `${b.occurred_at}${b.event_id}` ? -1 : 1));
  for (let from = 0; from < stored.length; from += pageRows) {
    for (const batch of order.take(stored.slice(from, from + pageRows))) await test.events(batch);
  }
  for (const batch of order.rest()) await test.events(batch);
  return test;
}

describe('a backtest of a rule on events', () => {
  const anEvent = fc.record({
    gapMs: fc.integer({ min: 1, max: 20_000 }),
    lateMs: fc.integer({ min: 0, max: 120_000 }),
    agent_id: fc.constantFrom('a', 'b'),
    is_error: fc.boolean(),
    cost_usd: fc.option(fc.integer({ min: 1, max: 9 }).map((n) => n / 8)),
  });
  const aRuleOnEvents = fc.constantFrom(
    aRule({}),
    aRule({ cooldownMinutes: 0, conditionConfig: { threshold: 70, windowMinutes: 2, of: 'calls', minEvents: 3 } }),
    aRule({ conditionType: 'cost_limit', conditionConfig: { maxCostUsd: 2, scope: 'session' } }),
    aRule({ agentId: 'b', conditionConfig: { threshold: 10, windowMinutes: 1 } }),
  );

  it('fires as the evaluator did: same ids, values and order', async () => {
    await fc.assert(
      fc.asyncProperty(
        aRuleOnEvents,
        fc.array(anEvent, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 50 }),
        async (rule, drawn, pageRows) => {
          let receivedMs = 0;
          const rows = drawn.map(({ gapMs, lateMs, ...fields }, n) => {
            receivedMs += gapMs;
            const id = `e${String(n).padStart(3, '0')}`;
            const occurred = receivedMs - lateMs;
            return aRow({ event_id: id, received_at: at(receivedMs), occurred_at: at(occurred), ...fields });
          });
          const live = new Replay('acme', [rule], NOON - 86_400_000);
          const fired: { id: string; at: string }[] = [];
          for (const [n, row] of rows.entries()) {
            live.moveTo(Date.parse(row.received_at));
            const batch = { id: `b${n}`, tenantId: 'acme', partition: '00', events: [liveEvent(row)] };
            for (const { id, triggeredAt } of await live.happen(batch)) fired.push({ id, at: triggeredAt });
          }
          const test = await replayed(rule, rows, pageRows);
          expect(test.findings.map((finding) => ({ id: finding.triggerId, at: finding.at }))).toEqual(fired);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('warms up before its range and reports only what lies in it', async () => {
    const rows = [0, 1, 2, 3].map((n) =>
      aRow({ event_id: `e${n}`, is_error: true, received_at: at(n * 1_000), occurred_at: at(n * 1_000) }),
    );
    const rule = aRule({ cooldownMinutes: 0 });
    const test = new RuleBacktest(question(rule, { from: at(3_000) }));
    const order = new ArrivalOrder('acme');
    for (const batch of [...order.take(rows), ...order.rest()]) await test.events(batch);
    expect(test.totals).toMatchObject({ triggers: 1 });
  });

  it('counts events whose clock was fast', () => {
    const order = new ArrivalOrder('acme');
    order.take([aRow({ event_id: 'a', occurred_at: at(0), received_at: at(0) })]);
    order.take([aRow({ event_id: 'b', occurred_at: at(3_600_000), received_at: at(600_000) })]);
    order.take([aRow({ event_id: 'c', occurred_at: at(7_200_000), received_at: at(500_000) })]);
    order.rest();
    expect(order.misplaced).toBe(1);
  });

  it('rejects rules that have no history of events', () => {
    const tick = { conditionType: 'health_score_threshold', conditionConfig: { minScore: 50 } };
    expect(() => new RuleBacktest(question(aRule(tick)))).toThrow('health scores');
  });
});

const aDecision = (fields: Partial<StoredDecisionRow>): StoredDecisionRow => ({
  ...{ decision_id: 'd', run_id: 'run', agent_id: 'a', phase: 'tool.before', tool_name: 'pay', call_id: null },
  ...{ verdict: 'ALLOW', reason: null, arguments: null, arguments_cut: null, inputs_digest: 'h', decided_at: at(0) },
  ...{
    session_id: null,
    actor_id: null,
    actor: null,
    run_tags: null,
    tool_tags: null,
    agent_tags: null,
    agent_tools: null,
    ancestors: null,
  },
  ...fields,
});

async function decided(rule: Partial<GuardrailRule>, rows: readonly StoredDecisionRow[], inForce?: GuardrailRule) {
  const test = new RuleBacktest(question(aRule({ actionType: 'block', ...rule }), { inForce }));
  for (const row of rows) await test.decision(decisionOfRow('acme', row));
  return test;
}

const large = {
  conditionType: 'tool_argument',
  conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 100 },
};

describe('a backtest of a decision rule', () => {
  it('counts what it would stop by day, agent and tool', async () => {
    const rows = [
      aDecision({ decision_id: '1', arguments: { amount: 500 }, call_id: 'c1' }),
      aDecision({ decision_id: '2', arguments: { amount: 5 }, call_id: 'c2' }),
      aDecision({ decision_id: '3', arguments: { amount: 500 }, agent_id: 'b', decided_at: at(86_400_000) }),
    ];
    const { totals, findings } = await decided(large, rows);
    expect(totals).toMatchObject({ asked: 3, blocked: 2, undecided: 0 });
    expect(findings.map(({ decisionId, kind }) => [decisionId, kind])).toEqual([
      ['1', 'block'],
      ['3', 'block'],
    ]);
    expect([...totals.byDay].map(([day, { asked, blocked }]) => [day, asked, blocked])).toEqual([
      ['2026-03-01', 2, 1],
      ['2026-03-02', 1, 1],
    ]);
    expect([totals.byTool.get('pay')?.blocked, totals.byAgent.get('b')?.blocked]).toEqual([2, 1]);
  });

  it('never decides a call without its arguments by onMissing', async () => {
    const rows = [
      aDecision({}),
      aDecision({ decision_id: '2', arguments: { amount: 1 }, arguments_cut: { start: '' } }),
    ];
    const { totals } = await decided(large, rows);
    expect(totals).toMatchObject({ asked: 2, blocked: 0, undecided: 2, undecidedBecause: { arguments: 2 } });
  });

  it('decides a call without its arguments if the rule does not need them', async () => {
    const rows = [aDecision({ tool_name: 'delete_all' }), aDecision({ decision_id: '2' })];
    const byName = { conditionType: 'tool_name', conditionConfig: { value: 'delete_*' } };
    expect((await decided(byName, rows)).totals).toMatchObject({ asked: 2, blocked: 1, undecided: 0 });
  });

  it('reads the tags that came with the calls, and says which calls have none that are known', async () => {
    const byTag = {
      selector: { toolTagsAny: ['egress'] },
      conditionType: 'tool_name',
      conditionConfig: { value: '*' },
    };
    const rows = [
      aDecision({ decision_id: '1', tool_tags: ['egress'] }),
      aDecision({ decision_id: '2', tool_tags: [] }),
      aDecision({ decision_id: '3' }),
      aDecision({ decision_id: '4', agent_tools: [{ name: 'pay', tags: ['egress'] }] }),
    ];
    const { totals } = await decided(byTag, rows);
    expect(totals).toMatchObject({ asked: 3, blocked: 2, undecided: 1, undecidedBecause: { tags: 1 } });
    expect((await decided(large, rows)).totals.undecidedBecause).not.toHaveProperty('tags');
  });

  it('rebuilds the history of a run from the calls that happened', async () => {
    const repeated = { conditionType: 'max_calls', conditionConfig: { tools: ['pay'], max: 2 } };
    const rows = ['ALLOW', 'BLOCK', 'ALLOW', 'ALLOW'].map((verdict, n) =>
      aDecision({ decision_id: `${n}`, call_id: `c${n}`, verdict, inputs_digest: `h${n}`, decided_at: at(n) }),
    );
    expect((await decided(repeated, rows)).findings.map(({ decisionId }) => decisionId)).toEqual(['3']);
  });

  it('counts a call that waits for a person once, and calls decided before any rule apart', async () => {
    const rows = [
      aDecision({ decision_id: '1', call_id: 'c', arguments: { amount: 500 } }),
      aDecision({ decision_id: '2', call_id: 'c', arguments: { amount: 500 }, decided_at: at(1) }),
      aDecision({ decision_id: '3', reason: 'breaker', verdict: 'BLOCK' }),
    ];
    const { totals } = await decided({ ...large, actionType: 'require_approval' }, rows);
    expect(totals).toMatchObject({ asked: 1, wouldAsk: 1, notAsked: 1 });
  });

  it('compares with the version in force', async () => {
    const rows = [50, 150, 500].map((amount, n) =>
      aDecision({ decision_id: `${n}`, call_id: `c${n}`, arguments: { amount } }),
    );
    const config = (value: number) => ({ ...large.conditionConfig, value });
    const inForce = aRule({ ...large, conditionConfig: config(400), actionType: 'block', mode: 'shadow' });
    const { totals } = await decided(large, rows, inForce);
    expect(totals.compared).toEqual({ same: 1, onlyDraft: 1, onlyInForce: 0 });
  });

  it('knows the end user, the session and today`s tags of agent and tool', async () => {
    const rows = [
      aDecision({ actor_id: 'ada', actor: { metadata: { plan: 'free' } }, agent_tags: ['prod'] }),
      aDecision({ decision_id: '2', agent_tags: ['prod'] }),
      aDecision({ decision_id: '3', agent_tags: ['test'], actor_id: 'ada', actor: { metadata: { plan: 'free' } } }),
    ];
    const free = {
      conditionType: 'enduser_tag',
      conditionConfig: { tag: 'plan', operator: 'hasValue', values: ['free'] },
    };
    const rule: Partial<GuardrailRule> = { ...free, onMissing: 'allow', selector: { agentTagsAny: ['prod'] } };
    expect((await decided(rule, rows)).totals).toMatchObject({ asked: 2, blocked: 1 });
  });
});
