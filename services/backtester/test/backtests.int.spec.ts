import { type Decision, timeOrderedId } from '@agentlens/contracts';
import { type Database, ensurePartitions, migrate, openDatabase } from '@agentlens/database';
import { createMemoryBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { type FreshDatabase, fixedClock, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { BacktestWriter } from '../src/backtest-writer.ts';
import { BacktestsRepository } from '../src/backtests.repository.ts';
import { executeBacktest } from '../src/execute-backtest.ts';
import { type JobHooks, JobRunner } from '../src/job-runner.ts';

const NOW = '2026-03-10T12:00:00.000Z';
const nowMs = Date.parse(NOW);
const hoursAgo = (hours: number) => nowMs - hours * 3_600_000;
const instant = (atMs: number) => new Date(atMs).toISOString();
const logger = createLogger({ name: 'test', level: 'silent' });

const BLOCK_LARGE = {
  ...{ name: 'Large payments', conditionType: 'tool_argument', actionType: 'block', onMissing: 'block' },
  conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 100 },
};

const ON_ERRORS = {
  ...{ name: 'Errors', conditionType: 'error_rate_threshold', actionType: 'notify_webhook' },
  ...{ conditionConfig: { threshold: 50, windowMinutes: 5 }, actionConfig: { url: 'https://93.184.216.34/in' } },
};

let fresh: FreshDatabase;
let owner: pg.Pool;
let database: Database;
let repository: BacktestsRepository;
let writer: BacktestWriter;

/** As the service's own role, so that this covers its grants. Only the thread is left out. */
beforeAll(async () => {
  fresh = await freshDatabase({ migrate });
  owner = new pg.Pool({ connectionString: fresh.url, max: 2 });
  owner.on('error', () => undefined);
  const tracking = openDatabase({ url: fresh.url, role: 'run-tracking', maxConnections: 1 });
  await ensurePartitions(tracking.db, 'events', hoursAgo(48), nowMs);
  await tracking.close();
  database = openDatabase({ url: fresh.url, role: 'backtester', maxConnections: 3 });
  repository = new BacktestsRepository(database, fixedClock(NOW));
  writer = new BacktestWriter(repository, fixedClock(NOW), 90);
});
afterAll(async () => {
  await database.close();
  await owner.end();
  await fresh.drop();
});

const runnerWith = (proceed?: JobHooks['proceed']) =>
  new JobRunner({
    ...{ repository, logger, bus: createMemoryBus() },
    execute: (job, hooks) => executeBacktest(database, job, proceed === undefined ? hooks : { proceed }),
  });

async function insert(table: string, row: Record<string, unknown>): Promise<void> {
  const columns = Object.keys(row);
  const places = columns.map((_, n) => `$${n + 1}`).join(', ');
  await owner.query(`insert into ${table} (${columns.join(', ')}) values (${places})`, Object.values(row));
}

async function aRun(tenant_id: string, run_id: string, status: string, parent_run_id: string | null = null) {
  const at = instant(hoursAgo(10));
  const times = { started_at: at, last_event_at: at, updated_at: at };
  await insert('runs', { tenant_id, run_id, parent_run_id, agent_id: 'a', status, ...times });
}

async function aCall(
  tenant_id: string,
  run_id: string,
  args: object | null,
  {
    verdict = 'ALLOW',
    atMs = hoursAgo(9),
    tool = 'pay',
  }: { verdict?: Decision['verdict']; atMs?: number; tool?: string } = {},
): Promise<string> {
  const decision_id = timeOrderedId(atMs);
  await insert('decisions', {
    ...{ tenant_id, decision_id, run_id, agent_id: 'a', phase: 'tool.before', tool_name: tool, call_id: decision_id },
    ...{ verdict, control: 'CONTINUE', effect: 'allow', cause: '{"kind":"ALLOW"}', message: '', evaluated_rules: '[]' },
    ...{ bypasses: '[]', inputs_digest: decision_id, latency_ms: 1, decided_at: instant(atMs) },
    arguments: args === null ? null : JSON.stringify(args),
  });
  return decision_id;
}

async function anEvent(tenant_id: string, event_id: string, fields: Record<string, unknown>): Promise<void> {
  await insert('events', {
    ...{ tenant_id, event_id, run_id: 'run', agent_id: 'a', kind: 'tool.completed', dialect: 'agentlens' },
    ...{ source_type: 'tool_error', severity: 'error', is_error: true, tags: [], payload: '{}', metadata: '{}' },
    ...{ hash: 'h', occurred_at: instant(hoursAgo(9)), received_at: instant(hoursAgo(9)), ...fields },
  });
}

async function queued(tenantId: string, body: object) {
  const answer = await writer.create(tenantId, body, 'ada');
  if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
  return answer.value;
}

describe('a backtest of a decision rule', () => {
  it('finds what it would stop, which stops are false rejections, what it misses and what cannot be judged', async () => {
    const runs = { fine: 'succeeded', broken: 'failed', flagged: 'succeeded', missed: 'killed' };
    for (const [runId, status] of Object.entries(runs)) await aRun('acme', runId, status);
    const harmless = await aCall('acme', 'fine', { amount: 500 });
    await aCall('acme', 'broken', { amount: 500 });
    await aCall('acme', 'flagged', { amount: 500 });
    await aCall('acme', 'fine', { amount: 5 });
    await aCall('acme', 'fine', null);
    await aCall('acme', 'fine', { amount: 900 }, { atMs: hoursAgo(24 * 9) });
    await insert('alerts', {
      ...{ tenant_id: 'acme', alert_id: 'al', kind: 'breaker', status: 'pending', severity: 'error', title: 't' },
      ...{ message: 'm', agent_id: 'a', run_id: 'flagged', created_at: NOW, version: 1 },
    });
    await anEvent('acme', 'spent', {
      run_id: 'fine',
      cost_usd: 0.25,
      is_error: false,
      kind: 'llm.completed',
      occurred_at: instant(hoursAgo(8)),
    });
    await aCall('globex', 'theirs', { amount: 500 });
    const job = await queued('acme', { rule: BLOCK_LARGE });
    expect(job).toMatchObject({ status: 'queued', ruleName: 'Large payments', createdBy: 'ada' });
    expect(await runnerWith().runNext()).toBe(true);
    const done = await repository.find('acme', job.id);
    expect(done).toMatchObject({ status: 'succeeded', progress: { decisions: 5 } });
    expect(done?.result).toMatchObject({
      ...{ asked: 5, blocked: 3, undecided: 1, affectedRuns: 3, compared: null, exact: false },
      falseRejections: { count: 1, judged: 3, rate: 0.2 },
      misses: { count: 1, of: 3 },
      saved: { afterStopUsd: 0.25 },
      coverage: { percent: 80, causes: [{ cause: 'arguments', calls: 1 }] },
      days: [{ name: '2026-03-10', blocked: 3, falseRejections: 1 }],
      tools: [{ name: 'pay', blocked: 3 }],
    });
    const { rows } = await owner.query(
      `select kind, outcome, body->>'decisionId' as id from backtest_findings order by n`,
    );
    expect(rows).toHaveLength(4);
    expect(rows).toContainEqual({ kind: 'block', outcome: 'harmless', id: harmless });
    expect(rows.at(-1)).toMatchObject({ kind: 'miss', outcome: 'harmful' });
  });
});

describe('a backtest of a rule on events', () => {
  it('fires over stored events with the ids of live triggers', async () => {
    for (const n of [1, 2, 3]) {
      const at = instant(hoursAgo(9) + n * 1_000);
      await anEvent('fires', `e${n}`, { occurred_at: at, received_at: at });
    }
    const rule = {
      name: 'Errors',
      conditionType: 'error_rate_threshold',
      conditionConfig: { threshold: 50, minEvents: 2 },
      actionType: 'pause_agent',
    };
    const job = await queued('fires', { rule });
    await runnerWith().runNext();
    const done = await repository.find('fires', job.id);
    expect(done?.result).toMatchObject({
      triggers: 1,
      agents: [{ name: 'a', triggers: 1 }],
      coverage: { percent: 100 },
    });
  });
});

describe('a backtest of a stored rule', () => {
  async function aStoredRule(tenant_id: string): Promise<void> {
    const { name, conditionType, conditionConfig, actionType } = BLOCK_LARGE;
    await insert('guardrail_rules', {
      ...{ tenant_id, rule_id: 'large', name, enabled: true, condition_type: conditionType },
      ...{ condition_config: JSON.stringify(conditionConfig), action_type: actionType, action_config: '{}' },
      ...{ cooldown_minutes: 0, dry_run: false, direction: 'both', priority: 0, on_missing: 'block' },
      ...{ version: 1, created_at: NOW, updated_at: NOW },
    });
  }

  it('says what the rule really did, beside what the replay finds', async () => {
    await aStoredRule('live');
    await aRun('live', 'fine', 'succeeded');
    await aCall('live', 'fine', { amount: 500 });
    const refused = await aCall('live', 'fine', { amount: 900 }, { verdict: 'BLOCK' });
    const before = await aCall('live', 'fine', { amount: 900 }, { verdict: 'BLOCK', atMs: hoursAgo(24 * 9) });
    await owner.query(`update decisions set final_rule_id = 'large' where decision_id = any($1)`, [[refused, before]]);
    const job = await queued('live', { ruleId: 'large' });
    await runnerWith().runNext();
    const done = await repository.find('live', job.id);
    expect(done).toMatchObject({
      status: 'succeeded',
      result: { blocked: 2, happened: { stopped: 1, triggers: 0 } },
    });
  });

  it('of a draft says nothing of what happened', async () => {
    const job = await queued('drafts', { rule: BLOCK_LARGE });
    await runnerWith().runNext();
    const done = await repository.find('drafts', job.id);
    expect(done?.status).toBe('succeeded');
    expect(done?.result).not.toHaveProperty('happened');
  });
});

describe('jobs', () => {
  it('are limited per tenant, and another tenant is not affected', async () => {
    for (let n = 0; n < 11; n++) await queued('busy', { rule: BLOCK_LARGE });
    expect(await writer.create('busy', { rule: BLOCK_LARGE })).toMatchObject({ problem: { status: 429 } });
    expect(await writer.create('calm', { rule: BLOCK_LARGE })).toMatchObject({ ok: true });
    await owner.query(`delete from backtests where tenant_id in ('busy', 'calm')`);
  });

  it('are claimed by one of several instances, and start again after a lost lease', async () => {
    const job = await queued('leased', { rule: BLOCK_LARGE });
    const claims = await Promise.all(['a', 'b', 'c'].map((lease) => repository.claim(lease)));
    expect(claims.filter((claim) => claim?.id === job.id)).toHaveLength(1);
    const later = new BacktestsRepository(database, fixedClock(instant(nowMs + 60_000)));
    const again = await later.claim('d');
    expect(again).toMatchObject({ id: job.id, leaseId: 'd' });
    const [first] = claims.filter((claim) => claim !== null);
    if (first === undefined || again === null) throw new Error('not claimed');
    expect(await repository.renew(first, { events: 0, decisions: 0, perSecond: 0 })).toBe('stop');
    await repository.finish(first, { status: 'failed', progress: { events: 0, decisions: 0, perSecond: 0 } });
    expect(await repository.find('leased', job.id)).toMatchObject({ status: 'running' });
    await later.release(again);
    await writer.cancel('leased', job.id);
  });

  it('end when they are cancelled, with what they found; cancelling twice is the same', async () => {
    const waiting = await queued('acme', { rule: BLOCK_LARGE });
    const once = await writer.cancel('acme', waiting.id);
    expect(once).toMatchObject({ value: { status: 'cancelled' } });
    expect(await writer.cancel('acme', waiting.id)).toEqual(once);
    const running = await queued('acme', { rule: BLOCK_LARGE });
    await runnerWith(async () => false).runNext();
    expect(await repository.find('acme', running.id)).toMatchObject({ status: 'cancelled', result: { exact: false } });
    expect(await writer.cancel('globex', running.id)).toMatchObject({ problem: { status: 404 } });
  });

  it('keep the reason if they fail', async () => {
    const job = await queued('acme', { rule: BLOCK_LARGE });
    const failing = new JobRunner({
      ...{ repository, logger, bus: createMemoryBus() },
      execute: () => Promise.reject(new Error('out of memory')),
    });
    await failing.runNext();
    expect(await repository.find('acme', job.id)).toMatchObject({ status: 'failed', error: 'out of memory' });
  });
});

describe('the request of a backtest', () => {
  it.each<[string, object, number, string]>([
    ['no rule', {}, 400, 'rule'],
    ['an invalid draft', { rule: { ...BLOCK_LARGE, conditionConfig: {} } }, 400, 'rule.conditionConfig'],
    ['an end before its start', { rule: BLOCK_LARGE, from: NOW, to: '2026-03-09T00:00:00Z' }, 400, 'to'],
    ['a range that is too long', { rule: BLOCK_LARGE, from: '2026-01-01T00:00:00Z' }, 400, 'from'],
    [
      'a range before retention',
      { rule: BLOCK_LARGE, from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' },
      400,
      'to',
    ],
    [
      'an invalid draft to compare with',
      { rule: BLOCK_LARGE, against: { ...BLOCK_LARGE, actionType: 'x' } },
      400,
      'against.',
    ],
    [
      'a draft of another kind to compare with',
      { rule: BLOCK_LARGE, against: ON_ERRORS },
      422,
      'against.conditionType',
    ],
    ['a version of a draft', { rule: BLOCK_LARGE, ruleId: 'x', version: 2 }, 400, 'version'],
    [
      'a rule on health scores',
      {
        rule: {
          name: 'x',
          conditionType: 'health_score_threshold',
          conditionConfig: { minScore: 50 },
          actionType: 'pause_agent',
        },
      },
      422,
      'rule.conditionType',
    ],
  ])('is rejected for %s', async (_name, body, status, path) => {
    expect(await writer.create('acme', body)).toMatchObject({
      problem: { status, details: [{ path: expect.stringContaining(path) }] },
    });
  });

  it('compares with a draft instead of the version in force', async () => {
    await aRun('drafts', 'r', 'succeeded');
    for (const amount of [50, 500, 5_000]) await aCall('drafts', 'r', { amount });
    const larger = { ...BLOCK_LARGE, conditionConfig: { ...BLOCK_LARGE.conditionConfig, value: 1_000 } };
    const job = await queued('drafts', { rule: BLOCK_LARGE, against: larger });
    await runnerWith().runNext();
    const { result } = (await repository.find('drafts', job.id)) ?? {};
    expect(result).toMatchObject({ blocked: 2, compared: { same: 1, onlyDraft: 1, onlyInForce: 0 } });
    expect(result?.compared).not.toHaveProperty('version');
  });

  it('is rejected for an unknown rule', async () => {
    expect(await writer.create('acme', { ruleId: 'unknown' })).toMatchObject({ problem: { status: 404 } });
  });

  it('clamps a range to what is retained, and says so', async () => {
    const short = new BacktestWriter(repository, fixedClock(NOW), 2);
    const answer = await short.create('clamped', { rule: BLOCK_LARGE });
    if (!answer.ok) throw new Error('refused');
    expect(answer.value.spec.from).toBe('2026-03-08T12:00:00.000Z');
    await runnerWith().runNext();
    expect((await repository.find('clamped', answer.value.id))?.result?.range).toMatchObject({
      clampedFrom: '2026-03-03T12:00:00.000Z',
    });
  });

  it('keeps no secret of a rule', async () => {
    const hook = { url: 'https://93.184.216.34/in', secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}` };
    const rule = { name: 'x', conditionType: 'error_rate_threshold', actionType: 'notify_webhook', actionConfig: hook };
    const { id } = await queued('secret', { rule });
    const { rows } = await owner.query('select * from backtests where backtest_id = $1', [id]);
    expect(JSON.stringify(rows)).not.toContain('whsec_');
    await writer.cancel('secret', id);
  });
});

describe('a backtest of a rule about data flow', () => {
  it('follows data between the runs of a tree, also through runs without decisions and in circles', async () => {
    const parents = { task: null, silent: 'task', reader: 'silent', mailer: 'task', alone: null, x: 'y', y: 'x' };
    for (const [runId, parent] of Object.entries(parents)) await aRun('trees', runId, 'succeeded', parent);
    for (const runId of ['reader', 'x']) await aCall('trees', runId, {}, { tool: 'read', atMs: hoursAgo(9) });
    for (const runId of ['mailer', 'task', 'alone', 'y']) {
      await aCall('trees', runId, {}, { tool: 'send', atMs: hoursAgo(8) });
    }
    const rule = {
      ...{ name: 'No egress', conditionType: 'data_flow', selector: { tools: ['send'] } },
      conditionConfig: { after: [{ tools: ['read'] }], label: 'pii' },
      ...{ actionType: 'block', actionConfig: {} },
    };
    const job = await queued('trees', { rule });
    expect(await runnerWith().runNext()).toBe(true);
    const { result } = (await repository.find('trees', job.id)) ?? {};
    expect(result).toMatchObject({ asked: 4, blocked: 3 });
    expect(result?.runs.map(({ name }) => name).sort()).toEqual(['mailer', 'task', 'y']);
  });
});
