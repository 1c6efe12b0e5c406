import { PLATFORM_TENANT } from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Client } from './client.ts';
import { failure, spending, success } from './events.ts';
import { makeRules } from './loaded-settings.ts';
import type { PlatformUnderTest } from './platform-under-test.ts';

const HISTORIES = 2;
const HISTORY_MS = 240_000;
const AGENTS = ['a', 'b'];
const RUNS = ['one', 'two', 'three'];
const TOOLS = ['search', 'pay', 'delete_all'];

/** In shadow, so that each rule is judged on the same calls as in its backtest. */
const DECISION_RULES = [
  { conditionType: 'tool_argument', conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 50 } },
  { conditionType: 'tool_name', conditionConfig: { value: 'delete_*' } },
  { conditionType: 'max_calls', conditionConfig: { tools: ['pay'], max: 2 } },
  { conditionType: 'max_calls', conditionConfig: { tools: TOOLS, max: 6, per: 'agent', windowMinutes: 60 } },
  { conditionType: 'repeated_call', conditionConfig: { times: 2 } },
  { conditionType: 'sequence', conditionConfig: { mustHaveCalled: [{ tools: ['search'] }] } },
  { conditionType: 'sequence', conditionConfig: { mustNotHaveCalled: [{ tools: ['pay'] }] } },
].map((rule, n) => ({ ...rule, name: `decides ${n}`, actionType: 'block', mode: 'shadow', onMissing: 'allow' }));

const EVENT_RULES = [
  { conditionType: 'error_rate_threshold', conditionConfig: { threshold: 40, windowMinutes: 60, minEvents: 3 } },
  { conditionType: 'error_rate_threshold', conditionConfig: { threshold: 60, windowMinutes: 60 }, agentId: 'b' },
  { conditionType: 'cost_limit', conditionConfig: { maxCostUsd: 1, scope: 'session' } },
].map((rule, n) => ({ ...rule, name: `watches ${n}`, actionType: 'pause_agent', dryRun: true, cooldownMinutes: 60 }));

const Step = fc.record({
  agent: fc.constantFrom(...AGENTS),
  run: fc.constantFrom(...RUNS),
  does: fc.oneof(
    fc.record({ tool: fc.constantFrom(...TOOLS), amount: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ events: fc.array(fc.constantFrom('success', 'failure', 'spending'), { minLength: 1, maxLength: 4 }) }),
  ),
});
type Step = typeof Step extends fc.Arbitrary<infer T> ? T : never;

interface Finding {
  readonly kind: string;
  readonly at: string;
  readonly agentId: string;
  readonly triggerId?: string;
  readonly decisionId?: string;
}

/** What a backtest promises: over stored history it finds what the evaluators found when it happened. */
export function describeHistory(mode: string, evaluators: number, start: () => Promise<PlatformUnderTest>): void {
  describe(`a backtest of what happened, ${mode}`, () => {
    let platform: PlatformUnderTest;
    let operator: Client;
    let tenants = 0;
    beforeAll(async () => {
      platform = await start();
      operator = new Client(platform, (await platform.keyOf(PLATFORM_TENANT, 'platform')).key);
    });
    afterAll(() => platform?.stop());

    it.each(fc.sample(fc.array(Step, { minLength: 40, maxLength: 60 }), { numRuns: HISTORIES, seed: 20_261_126 }))(
      'finds the same triggers and decisions (%#)',
      async (...steps: Step[]) => {
        const { key } = await platform.keyOf(`history-${++tenants}`, 'admin');
        const client = new Client(platform, key);
        const ids = await makeRules(platform, client, [...DECISION_RULES, ...EVENT_RULES]);
        for (const [n, step] of steps.entries()) await take(client, step, n);
        await everythingRecorded(client, operator, steps);

        let decided = 0;
        for (const id of ids.slice(0, DECISION_RULES.length)) {
          const found = (await backtested(client, id)).filter(({ kind }) => kind === 'block');
          const live = await matched(client, id);
          expect(found.map(({ decisionId }) => decisionId)).toEqual(live);
          decided += live.length;
        }
        let fired = 0;
        for (const id of ids.slice(DECISION_RULES.length)) {
          const live = await triggers(client, id);
          const found = (await backtested(client, id)).filter(({ kind }) => kind === 'trigger');
          fired += live.length;
          if (evaluators === 1) {
            expect(found.map(({ triggerId, at }) => [triggerId, at])).toEqual(live.map(({ id: own, at }) => [own, at]));
          } else {
            // Several evaluators may take an agent's events in another order: the same rule fires on another event.
            expect(found.map(({ agentId }) => agentId).sort()).toEqual(live.map(({ agentId }) => agentId).sort());
          }
        }
        expect(Math.min(decided, fired)).toBeGreaterThan(0);
      },
      HISTORY_MS,
    );
  });
}

/** A call that is asked, made and reported, or a request with events. */
async function take(client: Client, { agent, run, does }: Step, n: number): Promise<void> {
  const runId = `${agent}-${run}`;
  if ('events' in does) {
    const events = does.events.map((kind, m) => {
      const event = {
        spending: () => spending(agent, runId, 0.3),
        success: () => success(agent, runId),
        failure: () => failure(agent, runId),
      };
      return { ...event[kind as keyof typeof event](), id: `e-${n}-${m}` };
    });
    expect((await client.post('/api/events', { events })).status).toBe(201);
    return;
  }
  const question = {
    ...{ phase: 'tool.before', agentId: agent, callId: `c-${n}`, tool: { name: does.tool } },
    args: { amount: does.amount },
  };
  const { status, body } = await client.post(`/v1/runs/${runId}/evaluate`, question);
  expect([status, body.verdict]).toEqual([200, 'ALLOW']);
}

async function everythingRecorded(client: Client, operator: Client, steps: readonly Step[]): Promise<void> {
  const asked = steps.filter(({ does }) => 'tool' in does).length;
  const sent = steps.reduce((sum, { does }) => sum + ('events' in does ? does.events.length : 0), 0);
  await eventually(
    async () => {
      expect((await client.get('/api/decisions?limit=200')).body.decisions).toHaveLength(asked);
      const { runs } = (await client.get('/api/runs?limit=50')).body;
      const events = runs.reduce((sum: number, { totals }: { totals: { events: number } }) => sum + totals.events, 0);
      expect(events).toBeGreaterThanOrEqual(sent);
      const { consumers } = (await operator.get('/api/system/lag')).body;
      expect(consumers.filter(({ pending }: { pending: number }) => pending > 0)).toEqual([]);
    },
    { timeoutMs: 60_000 },
  );
}

async function backtested(client: Client, ruleId: string): Promise<Finding[]> {
  const queued = await client.post('/api/backtests', { ruleId });
  expect(queued.status).toBe(202);
  const { body } = await eventually(
    async () => {
      const answer = await client.get(`/api/backtests/${queued.body.id}`);
      expect(answer.body.status).toBe('succeeded');
      return answer;
    },
    { timeoutMs: 60_000 },
  );
  expect(body.result.undecided).toBe(0);
  return (await client.get(`/api/backtests/${queued.body.id}/findings?limit=200`)).body.findings;
}

/** Ids of the decisions for which the rule matched, oldest first. */
async function matched(client: Client, ruleId: string): Promise<string[]> {
  const { decisions } = (await client.get(`/api/decisions?ruleId=${ruleId}&limit=200`)).body;
  return decisions.map(({ id }: { id: string }) => id).reverse();
}

async function triggers(client: Client, ruleId: string): Promise<{ id: string; at: string; agentId: string }[]> {
  const rows = (await client.get(`/api/guardrails/history?ruleId=${ruleId}&limit=200`)).body.triggers;
  return rows
    .map(({ id, triggeredAt, metadata }: { id: string; triggeredAt: string; metadata: { agentId: string } }) => ({
      ...{ id, at: triggeredAt, agentId: metadata.agentId },
    }))
    .reverse();
}
