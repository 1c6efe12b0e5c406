import { type Kysely, sql } from 'kysely';
import { type Access, DISPATCHER, EVALUATOR, INGEST, openTable, RUN_TRACKING } from './open-table.ts';

const ACCESS: Readonly<Record<string, Access>> = {
  decisions: { writers: [RUN_TRACKING], readers: [] },
  alerts: { writers: [DISPATCHER], readers: [EVALUATOR] },
  control_orders: { writers: [DISPATCHER], readers: [INGEST, EVALUATOR] },
  control_acknowledgements: { writers: [DISPATCHER], readers: [] },
  circuit_breakers: { writers: [EVALUATOR], readers: [] },
  breaker_limits: { writers: [EVALUATOR], readers: [] },
  budgets: { writers: [EVALUATOR], readers: [] },
  budget_ledger: { writers: [EVALUATOR], readers: [] },
};

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrail_rules
      add column mode text not null default 'enforce' check (mode in ('enforce', 'shadow', 'off')),
      add column on_missing text not null default 'allow' check (on_missing in ('allow', 'block')),
      add column on_unavailable text not null default 'allow' check (on_unavailable in ('allow', 'block')),
      add column selector jsonb,
      add column policy_id text;

    alter table agents
      add column slug text,
      add column tags text[] not null default '{}',
      add column tools jsonb not null default '[]';
    create unique index agents_by_slug on agents (tenant_id, slug) where slug is not null;

    alter table runs
      add column step_count bigint not null default 0,
      add column actor_id text,
      add column actor jsonb,
      add column run_tags jsonb not null default '{}',
      add column ttl_ms bigint,
      add column heartbeat_at timestamptz,
      add column heartbeat_every_ms bigint,
      add column result jsonb,
      add column error_message text,
      add column cache_read_tokens bigint not null default 0,
      add column cache_write_tokens bigint not null default 0;
    create index runs_by_parent on runs (tenant_id, parent_run_id) where parent_run_id is not null;
    create index runs_by_actor on runs (tenant_id, actor_id, started_at desc) where actor_id is not null;
    create index runs_running on runs (last_event_at) where status = 'running';

    create table decisions (
      tenant_id text not null,
      decision_id text not null,
      run_id text not null,
      agent_id text not null,
      phase text not null,
      tool_name text,
      call_id text,
      verdict text not null,
      control text not null,
      effect text not null,
      cause jsonb not null,
      message text not null,
      evaluated_rules jsonb not null,
      final_rule_id text,
      approval_id text,
      bypasses jsonb not null,
      inputs_digest text not null,
      latency_ms double precision not null,
      decided_at timestamptz not null,
      primary key (tenant_id, decision_id)
    );
    create index decisions_by_run on decisions (tenant_id, run_id, decided_at);
    create index decisions_blocked on decisions (tenant_id, decided_at desc) where effect <> 'allow';

    create table alerts (
      tenant_id text not null,
      alert_id text not null,
      kind text not null check (kind in ('approval', 'breaker', 'rule')),
      status text not null check (status in
        ('pending', 'acknowledged', 'approved', 'denied', 'expired', 'cancelled')),
      severity text not null,
      title text not null,
      message text not null,
      agent_id text not null,
      run_id text,
      rule_id text,
      approval jsonb,
      -- SHA-256 of the approval's binding: there is one approval of exactly one call.
      binding text,
      -- What makes two alerts the same while one is pending.
      dedupe text,
      created_at timestamptz not null,
      expires_at timestamptz,
      acknowledged_at timestamptz,
      acknowledged_by text,
      decided_at timestamptz,
      decided_by text,
      reason text,
      used_at timestamptz,
      -- Alerts that were folded into this one.
      suppressed integer not null default 0,
      version integer not null,
      primary key (tenant_id, alert_id)
    );
    create unique index alerts_by_binding on alerts (tenant_id, binding)
      where binding is not null and status in ('pending', 'acknowledged', 'approved') and used_at is null;
    create unique index alerts_by_dedupe on alerts (tenant_id, dedupe)
      where dedupe is not null and status in ('pending', 'acknowledged');
    create index alerts_newest on alerts (tenant_id, created_at desc, alert_id desc);
    create index alerts_of_binding on alerts (tenant_id, binding, created_at desc) where binding is not null;
    create index alerts_expiring on alerts (expires_at)
      where expires_at is not null and status in ('pending', 'acknowledged', 'approved') and used_at is null;

    create table control_orders (
      tenant_id text not null,
      scope text not null check (scope in ('run', 'agent', 'tenant')),
      scope_id text not null,
      order_id text not null,
      state text not null check (state in ('running', 'paused', 'killed')),
      reason text not null,
      ordered_by text not null,
      version integer not null,
      issued_at timestamptz not null,
      primary key (tenant_id, scope, scope_id)
    );

    create table control_acknowledgements (
      tenant_id text not null,
      directive_id text not null,
      instance_id text not null,
      agent_id text not null,
      acknowledged_at timestamptz not null,
      primary key (tenant_id, directive_id, agent_id, instance_id)
    );

    create table circuit_breakers (
      tenant_id text not null,
      scope text not null check (scope in ('run', 'agent')),
      scope_id text not null,
      agent_id text not null,
      state jsonb not null,
      version integer not null,
      changed_at timestamptz not null,
      primary key (tenant_id, scope, scope_id)
    );

    create table breaker_limits (
      tenant_id text not null,
      scope text not null check (scope in ('tenant', 'agent', 'run')),
      scope_id text not null,
      limits jsonb not null,
      updated_at timestamptz not null,
      primary key (tenant_id, scope, scope_id)
    );

    create table budgets (
      tenant_id text not null,
      budget_id text not null,
      name text not null,
      scope text not null check (scope in ('run', 'session', 'agent', 'actor', 'tenant')),
      scope_id text,
      period text not null check (period in ('total', 'day', 'week', 'month')),
      limit_usd numeric(14,6) not null,
      enabled boolean not null,
      on_unavailable text not null,
      version integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      deleted_at timestamptz,
      primary key (tenant_id, budget_id)
    );

    -- What was settled, per budget and period and scope; the truth Redis is rebuilt from.
    create table budget_ledger (
      tenant_id text not null,
      budget_id text not null,
      scope_id text not null,
      period_start date not null,
      reservation_id text not null,
      estimate_usd numeric(14,6) not null,
      cost_usd numeric(14,6) not null,
      settled_at timestamptz not null,
      primary key (tenant_id, budget_id, scope_id, period_start, reservation_id)
    );
  `.execute(db);

  for (const [table, access] of Object.entries(ACCESS)) {
    await sql`
      alter table ${sql.table(table)} enable row level security;
      alter table ${sql.table(table)} force row level security;
    `.execute(db);
    await openTable(db, table, access);
  }
}
