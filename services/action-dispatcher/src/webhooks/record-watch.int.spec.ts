import { type Database, migrate, openDatabase } from '@agentlens/database';
import { createLogger } from '@agentlens/platform';
import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { RecordWatch } from './record-watch.ts';

const NOW = '2026-03-04T12:00:00.000Z';
const MINUTES_AGO = (minutes: number) => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();

const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

describe('record events for webhook endpoints', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let owner: pg.Client;
  let watch: RecordWatch;
  let errors: unknown[];
  /** Number of statements that insert deliveries. */
  let inserts: number;

  beforeEach(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'action-dispatcher' });
    owner = new pg.Client({ connectionString: fresh.url });
    await owner.connect();
    await owner.query(`insert into tenants (id, name, created_at) values ('acme', 'a', $1), ('globex', 'g', $1)`, [
      NOW,
    ]);
    [errors, inserts] = [[], 0];
    const db = database.db.withPlugin({
      transformQuery: ({ node }) => {
        if (node.kind === 'InsertQueryNode') inserts += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const now = () => Date.parse(NOW);
    const logger = createLogger({ name: 'test', level: 'silent' });
    watch = new RecordWatch({ db, now, logger, onQueued: () => undefined, onError: (e) => errors.push(e) });
  });
  afterEach(async () => {
    await owner.end();
    await database.close();
    await fresh.drop();
  });

  const endpoint = (tenantId: string, events: string[], createdAt = MINUTES_AGO(60), id = `${tenantId}-hook`) =>
    owner.query(
      `insert into webhook_endpoints
         (tenant_id, webhook_id, url, destination, events, format, secret, enabled, version, created_at, updated_at)
       values ($1, $4, 'https://example.com', 'https://example.com', $2, 'standard', 's', true, 1, $3, $3)`,
      [tenantId, events, createdAt, id],
    );
  const change = (id: string, at = MINUTES_AGO(1), tenantId = 'acme') =>
    owner.query(
      `insert into audit_entries (tenant_id, entry_id, at, kind, target, target_id, key_id, key_name, after)
       values ($1, $2, $3, 'rule.changed', 'rule', 'r', 'k', 'laptop', '{"name":"Rule"}')`,
      [tenantId, id, at],
    );
  const budget = (limitUsd: number, period = 'week') =>
    owner.query(
      `insert into budgets (tenant_id, budget_id, name, scope, scope_id, period, limit_usd, enabled, on_unavailable,
         version, created_at, updated_at) values ('acme', 'b', 'Team', 'agent', null, $2, $1, true, 'block', 1, $3, $3)
       on conflict (tenant_id, budget_id) do update set limit_usd = $1`,
      [limitUsd, period, MINUTES_AGO(90)],
    );
  let spendings = 0;
  const spent = (scopeId: string, usd: number, periodStart = '2026-03-02', at = NOW) =>
    owner.query(
      `insert into budget_ledger (tenant_id, budget_id, scope_id, period_start, reservation_id, estimate_usd, cost_usd,
         settled_at) values ('acme', 'b', $1, $2, $3, 0, $4, $5)`,
      [scopeId, periodStart, `s-${spendings++}`, usd, at],
    );
  const sent = async () => {
    const { rows } = await owner.query(
      `select tenant_id as tenant, webhook_id as webhook, triggered_at as at, action_config->'message'->>'type' as type, action_config->'message'->'data' as data
       from deliveries order by created_at, action_config->'message'->'data'->>'share'`,
    );
    return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
  };

  it('contain each change once, for tenants that listen, since they started to listen', async () => {
    await endpoint('acme', ['audit']);
    await endpoint('globex', ['budgets']);
    await change('before', MINUTES_AGO(61));
    await change('one');
    await change('theirs', MINUTES_AGO(1), 'globex');
    await watch.look();
    await change('late', MINUTES_AGO(2));
    await watch.look();
    expect(errors).toEqual([]);
    expect((await sent()).map(({ tenant, type, data }) => [tenant, type, data.id])).toEqual([
      ['acme', 'audit.recorded', 'one'],
      ['acme', 'audit.recorded', 'late'],
    ]);
    expect((await sent())[0].data).toMatchObject({
      ...{ kind: 'rule.changed', targetId: 'r', actor: { keyName: 'laptop' }, after: { name: 'Rule' } },
    });
  });

  it('contain each budget pot at 80 % and 100 %, once per limit', async () => {
    await endpoint('acme', ['budgets']);
    await budget(10);
    await spent('frugal', 7.9);
    await spent('last-week', 20, '2026-02-23');
    await spent('bot', 8);
    await watch.look();
    await watch.look();
    await spent('bot', 2);
    await watch.look();
    const reached = async () => (await sent()).map(({ data }) => [data.scopeId, data.share, data.spentUsd]);
    expect(await reached()).toEqual([
      ['bot', 0.8, 8],
      ['bot', 1, 10],
    ]);
    expect((await sent())[0].data.budget).toMatchObject({ id: 'b', name: 'Team', limitUsd: 10 });
    await budget(12);
    await watch.look();
    expect(await reached()).toHaveLength(3);
    expect(errors).toEqual([]);
  });

  it('are inserted into the table of deliveries once, however often the record is read', async () => {
    await endpoint('acme', ['audit', 'budgets']);
    await change('one');
    await budget(10);
    await spent('bot', 9);
    await watch.look();
    expect(inserts).toBe(1);
    await watch.look();
    await watch.look();
    expect(inserts).toBe(1);
    await change('two');
    await watch.look();
    expect(inserts).toBe(2);
    expect((await sent()).map(({ type }) => type).sort(byText)).toEqual([
      ...['audit.recorded', 'audit.recorded', 'budget.reached'],
    ]);
    expect(errors).toEqual([]);
  });

  it('start for each endpoint at its creation, regardless of other endpoints', async () => {
    await endpoint('acme', ['audit']);
    await endpoint('acme', ['audit'], MINUTES_AGO(1), 'newer');
    await change('before', MINUTES_AGO(1.5));
    await change('since', MINUTES_AGO(0.5));
    await watch.look();
    const received = (await sent()).map(({ webhook, data }) => [webhook, data.id]).sort(byText);
    expect(received).toEqual([
      ['acme-hook', 'before'],
      ['acme-hook', 'since'],
      ['newer', 'since'],
    ]);
    expect(errors).toEqual([]);
  });

  it('start when an existing endpoint began to listen', async () => {
    await endpoint('acme', ['orders', 'audit']);
    await owner.query(`update webhook_endpoints set listens_since = $1`, [{ audit: MINUTES_AGO(1) }]);
    await change('before', MINUTES_AGO(1.5));
    await change('since', MINUTES_AGO(0.5));
    await watch.look();
    expect((await sent()).map(({ data }) => data.id)).toEqual(['since']);
    expect(errors).toEqual([]);
  });

  it('leave out a budget that was reached before the endpoint was created, and include what is reached later', async () => {
    await endpoint('acme', ['budgets']);
    await endpoint('acme', ['budgets'], MINUTES_AGO(1), 'newer');
    await budget(10);
    await spent('bot', 8, '2026-03-02', MINUTES_AGO(3));
    await spent('bot', 0.5, '2026-03-02', MINUTES_AGO(0.5));
    await watch.look();
    const received = async () => (await sent()).map(({ webhook, data, at }) => [webhook, data.share, at]).sort(byText);
    expect(await received()).toEqual([['acme-hook', 0.8, MINUTES_AGO(3)]]);
    await spent('bot', 2, '2026-03-02', MINUTES_AGO(0.4));
    await watch.look();
    expect(await received()).toEqual([
      ['acme-hook', 0.8, MINUTES_AGO(3)],
      ['acme-hook', 1, MINUTES_AGO(0.4)],
      ['newer', 1, MINUTES_AGO(0.4)],
    ]);
    expect(errors).toEqual([]);
  });

  it('contain a budget that is reached because its limit was lowered', async () => {
    await endpoint('acme', ['budgets'], MINUTES_AGO(1));
    await budget(100);
    await spent('bot', 9, '2026-03-02', MINUTES_AGO(3));
    await watch.look();
    expect(await sent()).toEqual([]);
    await budget(10);
    await owner.query(
      `insert into audit_entries (tenant_id, entry_id, at, kind, target, target_id, before, after)
       values ('acme', 'lowered', $1, 'budget.changed', 'budget', 'b', '{"limitUsd":100}', '{"limitUsd":10}'),
         ('acme', 'renamed', $2, 'budget.changed', 'budget', 'b', '{"limitUsd":10}', '{"limitUsd":10}')`,
      [MINUTES_AGO(0.5), MINUTES_AGO(0.2)],
    );
    await watch.look();
    expect((await sent()).map(({ data, at }) => [data.share, at])).toEqual([[0.8, MINUTES_AGO(0.5)]]);
    expect(errors).toEqual([]);
  });
});
