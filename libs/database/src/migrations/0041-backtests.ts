import { type Kysely, sql } from 'kysely';
import { createRole } from './0002-roles-and-grants.ts';
import { BACKTESTER, openTable } from './open-table.ts';

/** What a backtest reads across tenants. */
const READS = ['guardrail_rules', 'rule_versions', 'events', 'decisions', 'runs', 'agents', 'alerts', 'tenants'];

/** Jobs that evaluate a rule over stored history, and the service that runs them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createRole(db, BACKTESTER);
  await sql`
    create table backtests (
      tenant_id text not null,
      backtest_id text not null,
      spec jsonb not null,
      -- The rules to evaluate, without secrets.
      rule jsonb not null,
      in_force jsonb,
      status text not null check (status in ('queued', 'running', 'succeeded', 'partial', 'failed', 'cancelled')),
      progress jsonb not null,
      result jsonb,
      error text,
      created_by text,
      created_at timestamptz not null,
      started_at timestamptz,
      finished_at timestamptz,
      lease_id text,
      lease_until timestamptz,
      attempts integer not null default 0,
      cancel_requested boolean not null default false,
      primary key (tenant_id, backtest_id)
    );
    create index backtests_unfinished on backtests (created_at) where status in ('queued', 'running');
    create table backtest_findings (
      tenant_id text not null,
      backtest_id text not null,
      n integer not null,
      kind text not null,
      at timestamptz not null,
      outcome text not null,
      body jsonb not null,
      primary key (tenant_id, backtest_id, n),
      foreign key (tenant_id, backtest_id) references backtests on delete cascade
    );
    alter table backtests enable row level security;
    alter table backtests force row level security;
    alter table backtest_findings enable row level security;
    alter table backtest_findings force row level security;
  `.execute(db);
  for (const table of ['backtests', 'backtest_findings']) {
    await openTable(db, table, { writers: [BACKTESTER], readers: [] });
  }
  for (const table of READS) {
    await sql
      .raw(`
      grant select on ${table} to ${BACKTESTER};
      create policy ${table}_backtests on ${table} for select to ${BACKTESTER} using (true);
    `)
      .execute(db);
  }
}
