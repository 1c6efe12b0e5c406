import { decisionDecided } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { connectNatsBus, createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger, HealthRegistry } from '@agentlens/platform';
import { eventually, type FreshDatabase, fixedClock, freshDatabase, startNats } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsumingDecisionTracker } from '../consuming.testing.ts';
import { aDecision } from './decision.testing.ts';
import { DecisionStore } from './decision-store.ts';

const logger = createLogger({ name: 'run-tracking', level: 'silent' });

/** A bus and the rest of the platform. */
interface World {
  bus(): Promise<EventBus>;
  stop(): Promise<void>;
}

const WORLDS: Readonly<Record<string, () => Promise<World>>> = {
  memory: async () => ({ bus: async () => createMemoryBus(), stop: async () => undefined }),
  NATS: async () => {
    const server = await startNats();
    return {
      bus: () => connectNatsBus({ servers: server.url, name: 'run-tracking', backOffMs: [20, 50] }),
      stop: () => server.stop(),
    };
  },
};

describe.each(Object.entries(WORLDS))('decision tracker on %s', (_, openWorld) => {
  let world: World;
  let fresh: FreshDatabase;
  let database: Database;
  let bus: EventBus;
  let health: HealthRegistry;
  let tracker: ConsumingDecisionTracker;

  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.stop());
  beforeEach(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    bus = await world.bus();
    health = new HealthRegistry();
    tracker = trackerAt('2026-03-01T12:00:00.000Z');
    await tracker.start();
  });
  afterEach(async () => {
    await tracker.stop();
    await bus.close();
    await database.close();
    await fresh.drop();
  });

  function trackerAt(now: string, retentionDays = 30) {
    return new ConsumingDecisionTracker({ bus, database, clock: fixedClock(now), logger, health, retentionDays });
  }
  const rows = () =>
    database.db.selectFrom('decisions').selectAll().orderBy('tenant_id').orderBy('decision_id').execute();

  const stored = (count: number) =>
    eventually(async () => {
      const found = await rows();
      expect(found).toHaveLength(count);
      return found;
    });

  it('counts rule matches by day, each decision once for any number of deliveries', async () => {
    const finding = { ruleVersion: 1, enabled: true, matched: true, violated: true, mode: 'enforce' as const };
    const decided = (id: string, effect: 'ask' | 'block' | 'allow', mode: 'enforce' | 'shadow' = 'enforce') =>
      aDecision({
        id,
        evaluatedRules: [
          { ...finding, ruleId: 'r', effect, mode, matched: effect !== 'allow', violated: effect !== 'allow' },
        ],
      });
    const store = new DecisionStore(database.pool);
    await store.record([
      decided('c1', 'block'),
      decided('c2', 'ask'),
      decided('c3', 'allow'),
      decided('c4', 'block', 'shadow'),
    ]);
    expect(await store.record([decided('c1', 'block'), decided('c5', 'allow')])).toBe(1);
    const counted = await database.db.selectFrom('rule_daily').selectAll().where('rule_id', '=', 'r').execute();
    expect(counted).toEqual([
      {
        ...{ tenant_id: 'acme', rule_id: 'r', day: '2026-03-01' },
        ...{ asked: 5, matched: 3, blocked: 1, asked_human: 1, would_have: 1 },
      },
    ]);
  });

  it('counts what each version of a rule did by minute', async () => {
    const finding = { enabled: true, matched: true, violated: true, effect: 'block' as const };
    const decided = (id: string, ruleVersion: number, mode: 'enforce' | 'shadow', decidedAt: string) =>
      aDecision({
        ...{ id, decidedAt, bypasses: [{ ruleId: 'late', why: 'deadline', did: 'allow' }] },
        evaluatedRules: [
          { ...finding, ruleId: 'r', ruleVersion, mode },
          { ...finding, ruleId: 'late', ruleVersion: 1, mode: 'enforce', violated: false, effect: 'allow' },
        ],
      });
    const store = new DecisionStore(database.pool);
    const decisions = [
      decided('m1', 1, 'shadow', '2026-03-01T11:00:01.000Z'),
      decided('m2', 2, 'shadow', '2026-03-01T11:00:02.000Z'),
      decided('m3', 2, 'enforce', '2026-03-01T11:00:59.999Z'),
      decided('m4', 2, 'enforce', '2026-03-01T11:01:00.000Z'),
    ];
    await store.record(decisions.slice(0, 3));
    await store.record(decisions);
    const { rows } = await database.pool.query(
      `select rule_id, rule_version, asked, enforced, stopped, would_stop, bypassed from rule_minutes
      order by rule_id desc, rule_version, minute`,
    );
    expect(rows.map((row) => Object.values(row))).toEqual([
      ['r', 1, 1, 0, 0, 1, 0],
      ['r', 2, 2, 1, 1, 1, 0],
      ['r', 2, 1, 1, 1, 0, 0],
      ['late', 1, 3, 3, 0, 0, 3],
      ['late', 1, 1, 1, 0, 0, 1],
    ]);
    await store.dropBefore('2026-03-01T11:01:00.000Z');
    const left = await database.pool.query('select distinct minute from rule_minutes');
    expect(left.rows).toHaveLength(1);
  });

  it('counts a decision as bypassed if a rule in force could not be evaluated, not for what a call lacks', async () => {
    const finding = { ruleVersion: 1, enabled: true, matched: false, violated: false, effect: 'allow' as const };
    const decided = (id: string, mode: 'enforce' | 'shadow', why: 'deadline' | 'missing') =>
      aDecision({
        ...{ id, bypasses: [{ ruleId: 'r', why, did: 'allow' }] },
        evaluatedRules: [
          { ...finding, ruleId: 'r', mode },
          { ...finding, ruleId: 'other', mode: 'enforce' },
        ],
      });
    await new DecisionStore(database.pool).record([
      decided('b1', 'enforce', 'deadline'),
      decided('b2', 'enforce', 'missing'),
      decided('b3', 'shadow', 'deadline'),
      decided('b4', 'shadow', 'missing'),
      aDecision({ id: 'b5', bypasses: [{ ruleId: '*', why: 'unavailable', did: 'allow' }], evaluatedRules: [] }),
    ]);
    const { rows } = await database.pool.query(
      `select sum(decision_count)::int as all, sum(bypassed_count)::int as bypassed from activity where grain = 'hour'`,
    );
    expect(rows).toEqual([{ all: 5, bypassed: 2 }]);
  });

  it('marks a call that is asked again while it waits, and counts it once, across batches', async () => {
    const waiting = (id: string, approvalId = 'approval-1', minute = 0) =>
      aDecision({
        id,
        approvalId,
        effect: 'ask',
        cause: { kind: 'HITL_PENDING', approvalId },
        decidedAt: `2026-03-01T12:0${minute}:00.000Z`,
        evaluatedRules: [
          {
            ...{ ruleId: 'asks', ruleVersion: 1, enabled: true, matched: true, violated: true },
            ...{ effect: 'ask', mode: 'enforce' },
          },
        ],
      });
    const store = new DecisionStore(database.pool);
    await store.record([waiting('w2', 'approval-1', 1), waiting('w1'), waiting('x1', 'approval-2')]);
    await store.record([waiting('w3', 'approval-1', 2), waiting('w2', 'approval-1', 1)]);
    await store.record([aDecision({ id: 'w4', approvalId: 'approval-1', verdict: 'ALLOW', cause: { kind: 'ALLOW' } })]);
    const marked = (await rows()).map((row) => [row.decision_id, row.asked_again]);
    expect(marked).toEqual([
      ['w1', false],
      ['w2', true],
      ['w3', true],
      ['w4', false],
      ['x1', false],
    ]);
    const counted = await database.db.selectFrom('rule_daily').selectAll().where('rule_id', '=', 'asks').execute();
    expect(counted).toMatchObject([{ asked: 2, matched: 2, asked_human: 2 }]);
    const { rows: hours } = await database.pool.query(`select * from activity where grain = 'hour'`);
    expect(hours).toMatchObject([{ decision_count: 3, asked_count: 2, blocked_count: 0 }]);
    expect(hours[0].latency_counts.map(Number).slice(0, 3)).toEqual([0, 3, 0]);
  });

  it('stores who decided, and counts it by hour, each decision once', async () => {
    const store = new DecisionStore(database.pool);
    const asked = { by: 'evaluator', asked: 'counted', askedForRule: 'rule-1' } as const;
    const decisions = [
      aDecision({ id: 'p1', decider: { by: 'gateway', book: 'v1' }, decidedAt: '2026-03-01T11:59:59.999Z' }),
      aDecision({ id: 'p2', decider: { by: 'gateway', book: 'v2' } }),
      aDecision({ id: 'p3', decider: { by: 'gateway', asked: 'first' } }),
      aDecision({ id: 'p4', decider: asked }),
      aDecision({ id: 'p5', decider: asked }),
      aDecision({ id: 'p6', decider: { by: 'evaluator' } }),
      aDecision({ id: 'p7' }),
    ];
    await store.record(decisions.slice(0, 4));
    await store.record(decisions);
    expect((await rows()).map(({ decider }) => decider)).toEqual(decisions.map(({ decider = null }) => decider));
    const paths = () => database.pool.query('select * from decision_paths order by hour, path, asked');
    const noon = '2026-03-01T12:00:00.000Z';
    expect((await paths()).rows.map((row) => Object.values(row).slice(1))).toEqual([
      ['2026-03-01T11:00:00.000Z', 'gateway', '', '', 1],
      [noon, 'evaluator', '', '', 1],
      [noon, 'evaluator', 'counted', 'rule-1', 2],
      [noon, 'gateway', '', '', 1],
      [noon, 'unanswered', 'first', '', 1],
    ]);
    await store.dropBefore(noon);
    expect((await paths()).rows).toHaveLength(4);
  });

  it('stores the reason, the budget and the arguments', async () => {
    const store = new DecisionStore(database.pool);
    const kept = { reason: 'budget', budgetId: 'b', arguments: { to: '[email]' }, wouldHave: 'terminate' } as const;
    await store.record([aDecision({ id: 'kept', ...kept })]);
    const row = await database.db
      .selectFrom('decisions')
      .selectAll()
      .where('decision_id', '=', 'kept')
      .executeTakeFirst();
    expect(row).toMatchObject({ reason: 'budget', budget_id: 'b', would_have: 'terminate', arguments_cut: null });
    expect(row?.arguments).toEqual({ to: '[email]' });
  });

  it('stores a decision without the arguments that it modified', async () => {
    const decision = aDecision({ callId: 'call', modifiedArgs: { secret: 'x' }, approvalId: 'alert' });

    await bus.publish(decisionDecided, decision);

    const [row] = await stored(1);
    expect(row).toEqual({
      tenant_id: 'acme',
      decision_id: 'decision-1',
      run_id: 'run',
      agent_id: 'agent',
      phase: 'tool.before',
      tool_name: 'pay',
      tool_tags: null,
      call_id: 'call',
      verdict: 'BLOCK',
      control: 'CONTINUE',
      effect: 'block',
      cause: decision.cause,
      message: decision.message,
      evaluated_rules: decision.evaluatedRules,
      final_rule_id: 'rule-1',
      approval_id: 'alert',
      bypasses: [],
      inputs_digest: decision.inputsDigest,
      latency_ms: 0.4,
      decided_at: decision.decidedAt,
      ...{ reason: null, budget_id: null, arguments: null, arguments_cut: null, would_have: null },
      ...{ asked_again: false, decider: null },
    });
  });

  it('stores each decision once, for any grouping of messages, and separates tenants with equal ids', async () => {
    const store = new DecisionStore(database.pool);
    const [a, b, foreign] = [
      aDecision({ id: 'a' }),
      aDecision({ id: 'b' }),
      aDecision({ id: 'a', tenantId: 'globex' }),
    ];

    const counts = await Promise.all([store.record([a, b, a]), store.record([b, foreign]), store.record([foreign, a])]);

    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3);
    expect((await rows()).map((row) => `${row.tenant_id}/${row.decision_id}`)).toEqual([
      'acme/a',
      'acme/b',
      'globex/a',
    ]);
  });

  it('stores decisions made during its downtime, each once, even if they are redelivered', async () => {
    await tracker.stop();
    // On the memory bus, publishing resolves when all consumers have acknowledged.
    const published = Promise.all(['x', 'y', 'x'].map((id) => bus.publish(decisionDecided, aDecision({ id }))));

    tracker = trackerAt('2026-03-01T12:00:00.000Z');
    await tracker.start();
    await published;

    expect((await stored(2)).map((row) => row.decision_id)).toEqual(['x', 'y']);
  });

  it('removes decisions past retention', async () => {
    await bus.publish(decisionDecided, aDecision({ id: 'old', decidedAt: '2026-02-01T00:00:00.000Z' }));
    await bus.publish(decisionDecided, aDecision({ id: 'new' }));
    await stored(2);

    await trackerAt('2026-03-04T00:00:00.000Z').dropOld();

    expect((await rows()).map((row) => row.decision_id)).toEqual(['new']);
  });

  it('reports progress', async () => {
    await bus.publish(decisionDecided, aDecision({ id: 'progress' }));

    await stored(1);
    await eventually(async () =>
      expect((await health.report()).checks['decision-storage']).toMatchObject({ ok: true, detail: { pending: 0 } }),
    );
  });
});
