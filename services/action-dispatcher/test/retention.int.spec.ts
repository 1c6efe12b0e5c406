import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import { openDatabase, recordChanges } from '@agentlens/database';
import { createLogger } from '@agentlens/platform';
import { aTrigger } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { RunActions } from '../src/removal/run-actions.repository.ts';
import { OldRows, ROWS_AT_ONCE } from '../src/retention/old-rows.repository.ts';
import { Retention } from '../src/retention/retention.ts';
import { type Dispatching, dispatching, firedBy, START } from './dispatching.ts';

const KEPT_DAYS = 30;

const daysAgo = (days: number): string => new Date(Date.parse(START) - days * DAY_MS).toISOString();

describe('retention', () => {
  let world: Dispatching;

  beforeEach(async () => {
    world = await dispatching();
  });
  afterEach(() => world.close());

  const retention = (days = KEPT_DAYS) =>
    new Retention({
      rows: new OldRows(world.db),
      now: () => world.clock.now(),
      days,
      logger: createLogger({ name: 'test', level: 'silent' }),
    });

  /** A settled delivery with one attempt, unless overridden. */
  async function delivery(id: string, createdAt: string, fields: { settledAt?: string | null; count?: number } = {}) {
    const { settledAt = createdAt, count = 1 } = fields;
    await sql`
      insert into deliveries (tenant_id, delivery_id, trigger_id, triggered_at, rule_id, agent_id, action_type,
        action_config, result, attempts, next_attempt_at, created_at, settled_at)
      select 'acme', ${id} || nullif(i, 1), 't', ${createdAt}, 'r', 'a', 'notify_webhook', '{}',
        case when ${settledAt}::timestamptz is null then 'retrying' else 'success' end, 1,
        case when ${settledAt}::timestamptz is null then ${createdAt}::timestamptz end, ${createdAt}, ${settledAt}
      from generate_series(2, ${count}::int + 1) i`.execute(world.db);
    await sql`
      insert into delivery_attempts (tenant_id, delivery_id, attempt, started_at, finished_at, outcome)
      select tenant_id, delivery_id, 1, created_at, created_at, 'delivered' from deliveries
      on conflict do nothing`.execute(world.db);
  }

  async function alert(id: string, status: string, createdAt: string, expiresAt: string | null = null) {
    await sql`
      insert into alerts (tenant_id, alert_id, kind, status, severity, title, message, agent_id, created_at, expires_at,
        decided_at, version)
      values ('acme', ${id}, 'approval', ${status}, 'warn', 't', 'm', 'a', ${createdAt}, ${expiresAt},
        case when ${status} = 'approved' then ${createdAt}::timestamptz end, 1)`.execute(world.db);
  }

  const idsIn = async (table: string, column: string) => {
    const found = await sql<{
      id: string;
    }>`select ${sql.ref(column)} as id from ${sql.table(table)} order by 1`.execute(world.db);
    return found.rows.map(({ id }) => id);
  };

  it('removes settled deliveries and their attempts, and keeps unsettled ones', async () => {
    await delivery('old-', daysAgo(31));
    await delivery('waiting-', daysAgo(31), { settledAt: null });
    await delivery('settled-lately-', daysAgo(31), { settledAt: daysAgo(1) });
    await delivery('new-', daysAgo(29));

    await retention().batch();

    const left = ['new-2', 'settled-lately-2', 'waiting-2'];
    expect(await idsIn('deliveries', 'delivery_id')).toEqual(left);
    expect(await idsIn('delivery_attempts', 'delivery_id')).toEqual(left);
  });

  it('removes closed alerts, and keeps pending ones and approvals that still allow a call', async () => {
    await alert('old', 'approved', daysAgo(31));
    await alert('old-expired', 'expired', daysAgo(31), daysAgo(31));
    await alert('open', 'pending', daysAgo(31));
    await alert('holds', 'approved', daysAgo(31), daysAgo(-1));
    await alert('new', 'approved', daysAgo(29));

    await retention().batch();

    expect(await idsIn('alerts', 'alert_id')).toEqual(['holds', 'new', 'open']);
  });

  it('removes sealed calls past the retention of contents, except those that can still be decided', async () => {
    const call = async (id: string, status: string, days: number) => {
      await alert(id, status, daysAgo(days));
      await sql`insert into approval_calls (tenant_id, alert_id, sealed, created_at)
        values ('acme', ${id}, 'sealed', ${daysAgo(days)})`.execute(world.db);
    };
    await call('old', 'approved', 8);
    await call('waits', 'pending', 8);
    await call('new', 'approved', 6);
    const query = openDatabase({ url: world.url, role: 'query', maxConnections: 1 });
    await query.db
      .insertInto('tenants')
      .values({ id: 'acme', name: 'acme', created_at: START, content_retention_days: 7 })
      .execute();
    await query.close();

    await retention(0).batch();

    expect(await idsIn('approval_calls', 'alert_id')).toEqual(['new', 'waits']);
    expect(await idsIn('alerts', 'alert_id')).toEqual(['new', 'old', 'waits']);
  });

  it('removes the data of deleted runs and nothing else', async () => {
    const rule = await world.rule({ cooldownMinutes: 0 });
    for (const runId of ['gone', 'stays']) {
      await world.recorder().record(aTrigger({ ...firedBy(rule), id: `t-${runId}`, runId, triggeredAt: daysAgo(1) }));
      await alert(`a-${runId}`, 'pending', daysAgo(1));
      await sql`update alerts set run_id = ${runId} where alert_id = ${`a-${runId}`}`.execute(world.db);
      await sql`insert into approval_calls (tenant_id, alert_id, sealed, created_at)
        values ('acme', ${`a-${runId}`}, 'sealed', ${START})`.execute(world.db);
      await delivery(`d-${runId}-`, daysAgo(1));
      await sql`update deliveries set trigger_id = ${`a-${runId}`}
        where delivery_id = ${`d-${runId}-2`}`.execute(world.db);
    }
    const actions = new RunActions(world.db, () => world.clock.now());

    await actions.delete('globex', ['gone']);
    await actions.delete('acme', ['gone', 'unknown']);

    expect(await idsIn('guardrail_triggers', 'trigger_id')).toEqual(['t-stays']);
    expect(await idsIn('alerts', 'alert_id')).toEqual(['a-stays']);
    expect(await idsIn('approval_calls', 'alert_id')).toEqual(['a-stays']);
    expect(await idsIn('deliveries', 'trigger_id')).toEqual(['a-stays', 't-stays']);
    const { rows } = await sql`
      select from delivery_attempts a
      where not exists (select from deliveries d where d.delivery_id = a.delivery_id)`.execute(world.db);
    expect(rows).toEqual([]);
  });

  it('erases the contents of runs and keeps the rows', async () => {
    const rule = await world.rule({ cooldownMinutes: 0 });
    const triggered = { ...firedBy(rule), id: 't', runId: 'run', message: 'ann paid', triggeredAt: daysAgo(1) };
    await world.recorder().record(aTrigger(triggered));
    await alert('a', 'approved', daysAgo(1));
    await sql`update alerts set run_id = 'run', message = 'may ann pay?', reason = 'ann may'`.execute(world.db);
    await sql`insert into approval_calls (tenant_id, alert_id, sealed, created_at)
      values ('acme', 'a', 'sealed', ${START})`.execute(world.db);
    await delivery('notified-', daysAgo(1));
    await sql`update deliveries set trigger_id = 'a', webhook_id = 'w' where delivery_id = 'notified-2'`.execute(
      world.db,
    );
    await delivery('acted-', daysAgo(1));
    await sql`update deliveries set trigger_id = 't' where delivery_id = 'acted-2'`.execute(world.db);
    await sql`update delivery_attempts set detail = 'no such user ann', exchange = '{"response":"no ann"}'`.execute(
      world.db,
    );
    const actions = new RunActions(world.db, () => world.clock.now());

    await actions.erase('globex', ['run']);
    expect(await idsIn('alerts', 'message')).toEqual(['may ann pay?']);
    await actions.erase('acme', ['run']);

    expect(await idsIn('guardrail_triggers', 'message')).toEqual(['removed']);
    expect(await idsIn('alerts', 'message')).toEqual(['removed']);
    expect(await idsIn('alerts', 'reason')).toEqual([null]);
    expect(await idsIn('approval_calls', 'alert_id')).toEqual([]);
    expect(await idsIn('deliveries', 'delivery_id')).not.toContain('notified-2');
    expect(await idsIn('deliveries', 'delivery_id')).toContain('acted-2');
    const { rows } = await sql`
      select detail, exchange from delivery_attempts where delivery_id in ('notified-2', 'acted-2')`.execute(world.db);
    expect(rows).toEqual([{ detail: null, exchange: null }]);
  });

  describe('of the audit log', () => {
    const entries = async () => {
      const query = openDatabase({ url: world.url, role: 'query', maxConnections: 1 });
      const rows = await query.db
        .selectFrom('audit_entries')
        .select(['target_id', 'reason', 'before', 'after', 'person'])
        .where('target', '=', 'alert')
        .orderBy('target_id')
        .execute();
      await query.close();
      return rows;
    };
    /** As versions before 0052 wrote them; the alert itself may be gone for long. */
    const entry = (runId: string) =>
      recordChanges(world.db, [
        {
          tenantId: 'acme',
          at: START,
          kind: 'alert.denied',
          targetId: `a-${runId}`,
          author: { keyId: 'k', keyName: 'key', person: 'bob' },
          reason: 'ann may not',
          before: { runId, status: 'pending', title: 'Mail?', message: 'mail with {"to":"ann"}' },
          after: { runId, status: 'denied', title: 'Mail?', message: 'mail with {"to":"ann"}', reason: 'ann may not' },
        },
      ]);
    const erased = (runId: string) => ({
      target_id: `a-${runId}`,
      reason: null,
      before: { runId, status: 'pending' },
      after: { runId, status: 'denied' },
      person: 'bob',
    });

    it.each(['erase', 'delete'] as const)('removes the texts with the run (%s), and nothing else', async (verb) => {
      await entry('gone');
      await entry('stays');
      const [, kept] = await entries();

      await new RunActions(world.db, () => world.clock.now())[verb]('globex', ['gone']);
      expect((await entries())[0]?.reason).toBe('ann may not');
      await new RunActions(world.db, () => world.clock.now())[verb]('acme', ['gone']);

      expect(await entries()).toEqual([erased('gone'), kept]);
      expect(JSON.stringify(kept)).toContain('ann may not');
    });

    it('lets the dispatcher write nothing else', async () => {
      await entry('run');
      await sql`update audit_entries set reason = 'invented'`.execute(world.db);

      expect(await entries()).toEqual([erased('run')]);
      await expect(sql`update audit_entries set person = 'eve'`.execute(world.db)).rejects.toThrow(/permission denied/);
      await expect(sql`delete from audit_entries`.execute(world.db)).rejects.toThrow(/permission denied/);
    });
  });

  it('drops trigger partitions that are entirely past retention', async () => {
    const rule = await world.rule({ cooldownMinutes: 0 });
    for (const days of [70, 31, 1]) {
      await world.recorder().record(aTrigger({ ...firedBy(rule), id: `t-${days}`, triggeredAt: daysAgo(days) }));
    }

    await retention().batch();

    expect(await idsIn('guardrail_triggers', 'trigger_id')).toEqual(['t-1', 't-31']);
  });

  it('works in bounded batches, in quick succession, until nothing is left', async () => {
    await delivery('old-', daysAgo(31), { count: ROWS_AT_ONCE + 1 });

    expect(await retention().batch()).toBeLessThan(1_000);
    expect(await idsIn('deliveries', 'delivery_id')).toHaveLength(1);
    expect(await retention().batch()).toBe(HOUR_MS);
    expect(await idsIn('deliveries', 'delivery_id')).toEqual([]);
    expect(await idsIn('delivery_attempts', 'delivery_id')).toEqual([]);
  });

  it('lets replicas share the work', async () => {
    await delivery('old-', daysAgo(31), { count: 50 });

    await Promise.all([retention().batch(), retention().batch(), retention().batch()]);

    expect(await idsIn('deliveries', 'delivery_id')).toEqual([]);
  });

  it('keeps everything if retention is zero days', async () => {
    await delivery('old-', daysAgo(4_000));
    const forever = retention(0);

    forever.start();
    await forever.stop();

    expect(await idsIn('deliveries', 'delivery_id')).toEqual(['old-2']);
  });

  it('starts with the dispatcher', async () => {
    await delivery('old-', daysAgo(31));
    const dispatcher = await world.start({ retentionDays: KEPT_DAYS });

    await dispatcher.stop();

    expect(await idsIn('deliveries', 'delivery_id')).toEqual([]);
  });
});
