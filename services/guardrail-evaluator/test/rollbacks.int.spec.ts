import { randomUUID } from 'node:crypto';
import { Alert, COMMANDS, type GuardrailRule, type QuestionOf, type RuleFinding } from '@agentlens/contracts';
import { openDatabase } from '@agentlens/database';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ask, replyValue } from './asking.ts';
import { type Harness, openHarness, type Replica } from './harness.ts';

interface DecidedRun {
  readonly agentId: string;
  readonly runId: string;
  readonly calls: number;
  readonly stopped: number;
  readonly isEqual?: boolean;
}

/** The statements run as the services' own roles, so this also covers their grants. */
describe('rollbacks with three replicas', () => {
  let harness: Harness;
  let owner: pg.Pool;
  let replicas: Replica[];
  const alerts: QuestionOf<typeof COMMANDS.raiseAlert>[] = [];

  beforeAll(async () => {
    harness = await openHarness();
    owner = new pg.Pool({ connectionString: harness.databaseUrl, max: 2 });
    await harness.bus.serve(COMMANDS.raiseAlert, async (draft) => {
      alerts.push(draft);
      const now = new Date().toISOString();
      const alert = Alert.parse({
        ...draft,
        id: randomUUID(),
        status: 'pending',
        createdAt: now,
        version: 1,
      });
      await owner.query(
        `insert into alerts (tenant_id, alert_id, kind, status, severity, title, message, agent_id, rule_id, created_at, version)
        values ($1, $2, 'rule', 'pending', 'error', $3, $4, $5, $6, $7, 1)`,
        [draft.tenantId, alert.id, draft.title, draft.message, draft.agentId, draft.ruleId, now],
      );
      return { ok: true as const, value: alert };
    });
    replicas = [await harness.replica(), await harness.replica(), await harness.replica()];
    for (const { evaluator } of replicas) await evaluator.rollbacks.stop();
  });
  afterAll(async () => {
    await owner.end();
    await harness.close();
  });
  beforeEach(() => {
    alerts.length = 0;
  });

  const create = (body: object): Promise<GuardrailRule> =>
    replyValue(
      harness.bus.request(COMMANDS.createRule, {
        tenantId: 'acme',
        body: {
          name: 'No shell',
          conditionType: 'tool_name',
          conditionConfig: { value: 'shell' },
          actionType: 'block',
          ...body,
        },
      }),
    );
  const ruleOf = async (id: string) =>
    (await harness.database.db.selectFrom('guardrail_rules').selectAll().where('rule_id', '=', id).execute())[0];
  const versionsOf = async (id: string) =>
    (await harness.database.db.selectFrom('rule_versions').select('source').where('rule_id', '=', id).execute()).map(
      ({ source }) => source,
    );
  const reloadAll = () => Promise.all(replicas.map(({ evaluator }) => evaluator.rules.reload('acme')));
  const checkAll = () => Promise.all(replicas.map(({ evaluator }) => evaluator.rollbacks.check()));

  /** As run-tracking records it. */
  async function happened(rule: GuardrailRule, counts: { enforced: number; stopped: number; version?: number }) {
    await owner.query(
      `insert into rule_minutes (tenant_id, rule_id, rule_version, minute, asked, enforced, stopped, would_stop, bypassed)
      values ('acme', $1, $2, date_trunc('minute', now()), $3, $3, $4, 0, 0)`,
      [rule.id, counts.version ?? rule.version, counts.enforced, counts.stopped],
    );
  }

  /** As run-tracking records it: calls of a run, each with other arguments unless `isEqual`. */
  async function decided(
    rule: GuardrailRule,
    { agentId, runId, calls, stopped, isEqual = false }: DecidedRun,
  ): Promise<void> {
    const finding = { ruleId: rule.id, ruleVersion: rule.version, enabled: true, matched: true, mode: 'enforce' };
    for (let n = 0; n < calls; n++) {
      const found = { ...finding, violated: n < stopped, effect: n < stopped ? 'block' : 'allow' };
      await owner.query(
        `insert into decisions (tenant_id, decision_id, run_id, agent_id, phase, tool_name, verdict, control, effect, cause,
          message, evaluated_rules, bypasses, inputs_digest, latency_ms, decided_at)
        values ('acme', $1, $2, $3, 'tool.before', 'shell', 'ALLOW', 'CONTINUE', 'allow', '{"kind":"ALLOW"}', '', $4, '[]',
          $5, 1, now())`,
        [randomUUID(), runId, agentId, JSON.stringify([found]), isEqual ? 'same' : String(n)],
      );
    }
  }

  it('are not caused by one agent, by one run, or by equal calls', async () => {
    const rule = await create({ rollback: { maxStopRate: 0.05 } });
    await happened(rule, { enforced: 200, stopped: 100 });
    for (const [at, agentId] of ['a', 'b'].entries()) {
      await decided(rule, { agentId, runId: `${rule.id}-${at}`, calls: 60, stopped: 0 });
    }
    await decided(rule, { agentId: 'c', runId: `${rule.id}-c1`, calls: 80, stopped: 80 });
    await decided(rule, { agentId: 'c', runId: `${rule.id}-c2`, calls: 80, stopped: 80 });
    await decided(rule, { agentId: 'd', runId: `${rule.id}-d`, calls: 80, stopped: 80, isEqual: true });
    expect(await checkAll()).toEqual([0, 0, 0]);
    expect(await ruleOf(rule.id)).toMatchObject({ mode: 'enforce', version: 1 });
    await decided(rule, { agentId: 'e', runId: `${rule.id}-e`, calls: 40, stopped: 20 });
    expect((await checkAll()).toSorted((a, b) => a - b)).toEqual([0, 0, 1]);
    expect(await ruleOf(rule.id)).toMatchObject({ mode: 'shadow' });
  });

  it('return a canary to shadow once, with one alert and a version that says why', async () => {
    const rule = await create({ mode: 'canary', rollout: { percent: 100 }, rollback: { maxStopRate: 0.05 } });
    await reloadAll();
    expect(await ask(harness.bus, { tenantId: 'acme', tool: { name: 'shell', tags: [] } })).toMatchObject({
      effect: 'block',
    });
    await happened(rule, { enforced: 84, stopped: 6 });
    for (const at of [0, 1, 2]) {
      await decided(rule, { agentId: `agent-${at}`, runId: `${rule.id}-${at}`, calls: 28, stopped: 2 });
    }
    expect((await checkAll()).toSorted((a, b) => a - b)).toEqual([0, 0, 1]);
    expect(await checkAll()).toEqual([0, 0, 0]);
    expect(await ruleOf(rule.id)).toMatchObject({ mode: 'shadow', version: 2, rollout: null });
    expect(await versionsOf(rule.id)).toEqual(['api', 'rollback']);
    expect(alerts).toMatchObject([
      { ruleId: rule.id, kind: 'rule', message: expect.stringContaining('7.14 % of 84 different calls of 3 agents') },
    ]);
    await reloadAll();
    expect(
      await ask(harness.bus, { tenantId: 'acme', tool: { name: 'shell', tags: [] }, callId: 'later' }),
    ).toMatchObject({
      ...{ effect: 'allow', wouldHave: 'block' },
    });
  });

  it.each([
    ['too few calls', { enforced: 49, stopped: 49 }],
    ['a rate at its bound', { enforced: 100, stopped: 5 }],
    ['calls of an earlier version', { enforced: 100, stopped: 100, version: 99 }],
  ])('do not happen for %s', async (_name, counts) => {
    const rule = await create({ rollback: { maxStopRate: 0.05 } });
    await happened(rule, counts);
    expect(await checkAll()).toEqual([0, 0, 0]);
    expect(await ruleOf(rule.id)).toMatchObject({ mode: 'enforce', version: 1 });
  });

  it('happen for false rejections: shadow stops whose call and run succeeded, and asks that a person approved', async () => {
    const rule = await create({
      ...{ mode: 'canary', rollout: { percent: 100 } },
      rollback: { maxFalseRejectionRate: 0.3, minAsked: 4 },
    });
    const finding: RuleFinding = {
      ...{ ruleId: rule.id, ruleVersion: 1, enabled: true, matched: true, violated: true, effect: 'block' },
      mode: 'shadow',
    };
    const runs = { fine: 'succeeded', failed: 'failed', going: 'running' };
    const happened = async (runId: string, status: string, agentId = 'a') => {
      await owner.query(
        `insert into runs (tenant_id, run_id, agent_id, status, started_at, last_event_at, updated_at)
        values ('acme', $1, $3, $2, now(), now(), now())`,
        [runId, status, agentId],
      );
      await owner.query(
        `insert into decisions (tenant_id, decision_id, run_id, agent_id, phase, call_id, verdict, control, effect, would_have,
          cause, message, evaluated_rules, bypasses, inputs_digest, latency_ms, decided_at)
        values ('acme', $1, $2, $4, 'tool.before', 'c', 'ALLOW', 'CONTINUE', 'allow', 'block', '{"kind":"ALLOW"}', '', $3, '[]', '', 1, now())`,
        [`d-${runId}`, runId, JSON.stringify([finding]), agentId],
      );
    };
    for (const [runId, status] of Object.entries(runs)) await happened(runId, status);
    await owner.query(`insert into rule_minutes values ('acme', $1, 1, date_trunc('minute', now()), 10, 4, 0, 7, 0)`, [
      rule.id,
    ]);
    // Its own agent alone reports that the stop was harmless.
    expect(await checkAll()).toEqual([0, 0, 0]);
    await happened('fine-too', 'succeeded', 'b');
    // Of three judged stops two were harmless: 0.7 * 2/3.
    expect((await checkAll()).toSorted((a, b) => a - b)).toEqual([0, 0, 1]);
    expect(alerts).toMatchObject([{ message: expect.stringContaining('46.7 %') }]);
  });

  it('leave the figures readable to the tenant', async () => {
    const query = openDatabase({ url: harness.databaseUrl, role: 'query', maxConnections: 1 });
    const rows = await query.asTenant('acme', (db) => db.selectFrom('rule_minutes').selectAll().execute());
    const others = await query.asTenant('globex', (db) => db.selectFrom('rule_minutes').selectAll().execute());
    await query.close();
    expect([rows.length > 0, others]).toEqual([true, []]);
  });
});
