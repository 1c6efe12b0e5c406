import { type Kysely, sql } from 'kysely';
import { INGEST, openTable, QUERY, RUN_TRACKING } from './open-table.ts';

/** Prices that operators and tenants maintain, how budgets treat calls without a price, and how each call was priced. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table budgets
      add column on_unpriced text not null default 'estimate' check (on_unpriced in ('allow', 'estimate', 'block')),
      -- Whether a call whose estimate is 0 USD passes when the budget is spent.
      add column free_calls text not null default 'allow' check (free_calls in ('allow', 'block'));
    alter table budget_ledger
      add column unpriced boolean not null default false;

    alter table alerts drop constraint alerts_kind_check;
    alter table alerts add constraint alerts_kind_check check (kind in ('approval', 'breaker', 'rule', 'spend'));

    -- Kinds of tokens beside input and output, and how the cost was computed. Null: no model call, or an older event.
    alter table events add column pricing jsonb;

    create type event_row_2 as (
      tenant_id text, occurred_at text, event_id text, run_id text, agent_id text, session_id text, kind text,
      dialect text, source_type text, severity text, is_error boolean, tool_name text, call_id text, model text,
      provider text, input_tokens bigint, output_tokens bigint, total_tokens bigint, cost_usd text, cost_source text,
      latency_ms double precision, tags text[], payload jsonb, metadata jsonb, hash text, received_at text,
      pricing jsonb
    );

    create table price_overrides (
      tenant_id text not null,
      override_id text not null,
      version integer not null,
      provider text,
      model text not null,
      from_day date not null,
      -- The other members of the override, as the API writes them.
      price jsonb not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      deleted_at timestamptz,
      primary key (tenant_id, override_id)
    );
    create unique index price_overrides_key on price_overrides (tenant_id, coalesce(provider, ''), model, from_day)
      where deleted_at is null;
    create index price_overrides_updated on price_overrides (updated_at);
    alter table price_overrides enable row level security;
    alter table price_overrides force row level security;

    -- Price tables that operators loaded, for all tenants. The newest applies.
    create table price_tables (
      version text primary key,
      providers jsonb not null,
      models integer not null,
      loaded_at timestamptz not null default now(),
      loaded_by text
    );

    create table reprices (
      tenant_id text not null,
      reprice_id text not null,
      -- As the API takes it: from, to, models, onlyUnpriced, dryRun.
      request jsonb not null,
      state text not null check (state in ('running', 'finished', 'failed')),
      -- The last event that is done.
      done_at timestamptz,
      done_event text,
      calls bigint not null default 0,
      changed bigint not null default 0,
      delta_usd numeric(24,12) not null default 0,
      by_model jsonb not null default '{}',
      error text,
      author jsonb,
      started_at timestamptz not null default now(),
      finished_at timestamptz,
      primary key (tenant_id, reprice_id)
    );
    create unique index reprices_running on reprices (tenant_id) where state = 'running';
    alter table reprices enable row level security;
    alter table reprices force row level security;
  `.execute(db);
  await openTable(db, 'price_overrides', { writers: [QUERY], readers: [INGEST, RUN_TRACKING] });
  await openTable(db, 'reprices', { writers: [RUN_TRACKING], readers: [] });
  await sql
    .raw(`
    grant select, insert, update, delete on price_tables to ${QUERY};
    grant select on price_tables to ${INGEST}, ${RUN_TRACKING};
  `)
    .execute(db);
}
