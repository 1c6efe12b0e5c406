import { type Kysely, sql } from 'kysely';
import { DISPATCHER, EVALUATOR, QUERY, READER, RUN_TRACKING } from './open-table.ts';

/** Services that make facts. Each adds its pending entry in the transaction of the fact. */
const MAKERS = [EVALUATOR, DISPATCHER, QUERY].join(', ');
const TABLES = ['log_pending', 'log_heads', 'log_leaves', 'log_payloads', 'log_runs', 'log_tiles', 'log_checkpoints'];

/** Tables with what the sealer may do to them. A leaf, a tile and a checkpoint are never changed or removed. */
const SEALER_GRANTS: Readonly<Record<string, string>> = {
  log_pending: 'select, insert, delete',
  log_heads: 'select, insert, update',
  log_leaves: 'select, insert',
  log_payloads: 'select, insert, update, delete',
  log_runs: 'select, insert, update, delete',
  log_tiles: 'select, insert',
  log_checkpoints: 'select, insert',
};

/**
 * The provable log: a Merkle tree per tenant. Facts wait in `log_pending`, from where one sealer at a time appends them.
 * Approvals, orders and acknowledgements are added by triggers, because several statements of the dispatcher write them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    create table log_pending (
      tenant_id text not null,
      kind text not null,
      entry_id text not null,
      at timestamptz not null,
      run_id text,
      -- Null: the payload is the row of the decision.
      payload jsonb,
      queued_at timestamptz not null default now(),
      primary key (tenant_id, kind, entry_id)
    );
    create index log_pending_by_age on log_pending (queued_at);
    create table log_heads (
      tenant_id text primary key,
      log_id text not null unique,
      size bigint not null default 0,
      frontier bytea not null default '',
      checkpoint_size bigint not null default 0,
      sealed_at timestamptz not null default now(),
      -- Why sealing stopped; null while it goes on.
      broken text
    );
    create table log_leaves (
      tenant_id text not null,
      index bigint not null,
      kind text not null,
      entry_id text not null,
      leaf text not null,
      primary key (tenant_id, index),
      unique (tenant_id, kind, entry_id)
    );
    create table log_payloads (
      tenant_id text not null,
      index bigint not null,
      kind text not null,
      entry_id text not null,
      salt bytea not null,
      -- Null once the members that it salts are erased.
      member_salt bytea,
      withheld jsonb,
      -- Exact text; null if it is built from the row of the decision or change.
      body text,
      run_id text,
      run_entry bigint,
      primary key (tenant_id, index)
    );
    create index log_payloads_of_runs on log_payloads (tenant_id, run_id, run_entry) where run_id is not null;
    create unique index log_payloads_by_entry on log_payloads (tenant_id, kind, entry_id);
    create table log_runs (
      tenant_id text not null,
      run_id text not null,
      entries bigint not null,
      primary key (tenant_id, run_id)
    );
    create table log_tiles (
      tenant_id text not null,
      level int not null,
      n bigint not null,
      hashes bytea not null,
      root bytea not null,
      primary key (tenant_id, level, n)
    );
    create table log_checkpoints (
      tenant_id text not null,
      size bigint not null,
      root bytea not null,
      note text not null,
      at timestamptz not null,
      primary key (tenant_id, size)
    );
    -- The signing key of the installation, sealed; a single row.
    create table log_keys (
      id boolean primary key default true check (id),
      public_key bytea not null,
      sealed text not null,
      created_at timestamptz not null default now()
    );
    grant select, insert on log_keys to ${RUN_TRACKING};
    grant select (public_key) on log_keys to ${QUERY}, ${READER};
  `)
    .execute(db);
  for (const table of TABLES) {
    await sql
      .raw(`
      alter table ${table} enable row level security;
      alter table ${table} force row level security;
      grant ${SEALER_GRANTS[table]} on ${table} to ${RUN_TRACKING};
      grant select on ${table} to ${QUERY}, ${READER};
      create policy ${table}_writer on ${table} for all to ${RUN_TRACKING} using (true) with check (true);
      create policy ${table}_services on ${table} for select to ${QUERY} using (true);
      create policy ${table}_tenant on ${table} for select to ${READER}
        using (tenant_id = current_setting('agentlens.tenant', true));
    `)
      .execute(db);
  }
  await sql
    .raw(`
    grant select on audit_entries to ${RUN_TRACKING};
    create policy audit_entries_log on audit_entries for select to ${RUN_TRACKING} using (true);
    grant insert on log_pending to ${MAKERS};
    create policy log_pending_makers on log_pending for insert to ${MAKERS} with check (true);

    create function log_alert() returns trigger language plpgsql as $$
    begin
      if new.kind = 'approval' and (tg_op = 'INSERT'
        or (old.status, old.decided_at, old.used_at) is distinct from (new.status, new.decided_at, new.used_at)) then
        insert into log_pending (tenant_id, kind, entry_id, at, run_id, payload)
        values (new.tenant_id, 'approval', gen_random_uuid()::text, now(), new.run_id, jsonb_strip_nulls(jsonb_build_object(
          'approvalId', new.alert_id, 'status', new.status, 'agentId', new.agent_id, 'ruleId', new.rule_id,
          'binding', new.binding, 'createdAt', new.created_at, 'expiresAt', new.expires_at,
          'decidedAt', new.decided_at, 'decidedBy', new.decided_by, 'askedBy', new.asked_by, 'usedAt', new.used_at)));
      end if;
      return null;
    end $$;
    create trigger alerts_log after insert or update on alerts for each row execute function log_alert();

    create function log_order() returns trigger language plpgsql as $$
    begin
      insert into log_pending (tenant_id, kind, entry_id, at, run_id, payload)
      values (new.tenant_id, 'control', gen_random_uuid()::text, now(),
        case when new.scope = 'run' then new.scope_id end, jsonb_strip_nulls(jsonb_build_object(
          'orderId', new.order_id, 'scope', new.scope, 'scopeId', new.scope_id, 'agentId', new.agent_id,
          'state', new.state, 'reason', new.reason, 'orderedBy', new.ordered_by, 'version', new.version,
          'issuedAt', new.issued_at)));
      return null;
    end $$;
    create trigger control_orders_log after insert or update on control_orders
      for each row execute function log_order();

    create function log_acknowledgement() returns trigger language plpgsql as $$
    begin
      insert into log_pending (tenant_id, kind, entry_id, at, payload)
      values (new.tenant_id, 'ack', gen_random_uuid()::text, now(), jsonb_build_object(
        'directiveId', new.directive_id, 'instanceId', new.instance_id, 'agentId', new.agent_id,
        'acknowledgedAt', new.acknowledged_at));
      return null;
    end $$;
    create trigger control_acknowledgements_log after insert on control_acknowledgements
      for each row execute function log_acknowledgement();
  `)
    .execute(db);
}
