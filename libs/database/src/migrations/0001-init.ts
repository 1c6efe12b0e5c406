import { type Kysely, sql } from 'kysely';

/**
 * Every tenant table: `tenant_id` first in its key, FORCE row level security. The policy lets the tenant-bound role
 * (`agentlens_reader`) see one tenant, named by `agentlens.tenant` for the transaction; the service roles work
 * across tenants but hold grants only on what they own (see 0002 for the grants).
 */
const TENANT_TABLES = [
  'agents',
  'runs',
  'events',
  'agent_daily',
  'guardrail_rules',
  'guardrail_states',
  'guardrail_triggers',
  'trigger_cooldowns',
  'deliveries',
  'delivery_attempts',
  'destinations',
  'agent_directives',
  'api_keys',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table tenants (
      id text primary key check (id ~ '^[a-z0-9-]{1,40}$'),
      name text not null,
      created_at timestamptz not null
    );

    create table api_keys (
      tenant_id text not null references tenants (id),
      key_id text not null,
      name text not null,
      secret_hash bytea not null,
      scopes text[] not null,
      events_per_second integer,
      created_at timestamptz not null,
      last_used_at timestamptz,
      expires_at timestamptz,
      revoked_at timestamptz,
      primary key (tenant_id, key_id)
    );
    create unique index api_keys_key_id on api_keys (key_id);

    create table agents (
      tenant_id text not null,
      agent_id text not null,
      name text,
      description text,
      first_seen_at timestamptz not null,
      last_seen_at timestamptz not null,
      run_count bigint not null default 0,
      event_count bigint not null default 0,
      error_count bigint not null default 0,
      cost_usd numeric(14,6) not null default 0,
      name_place text collate "C",
      primary key (tenant_id, agent_id)
    );

    -- The places say which event decided a value ('<occurred_at>/<event_id>', the later one wins), so that the order of
    -- arrival does not. Collation C, because every replica and the domain compare them bytewise.
    create table runs (
      tenant_id text not null,
      run_id text not null,
      agent_id text not null,
      agent_name text,
      session_id text,
      parent_run_id text,
      parent_tool_use_id text,
      status text not null check (status in
        ('running', 'succeeded', 'failed', 'timed_out', 'cancelled', 'interrupted', 'lost')),
      model text,
      provider text,
      started_at timestamptz not null,
      last_event_at timestamptz not null,
      ended_at timestamptz,
      event_count bigint not null default 0,
      error_count bigint not null default 0,
      tool_call_count bigint not null default 0,
      tool_error_count bigint not null default 0,
      llm_call_count bigint not null default 0,
      input_tokens bigint not null default 0,
      output_tokens bigint not null default 0,
      total_tokens bigint not null default 0,
      cost_usd numeric(14,6) not null default 0,
      unpriced_count bigint not null default 0,
      tags text[] not null default '{}',
      updated_at timestamptz not null,
      first_place text collate "C",
      name_place text collate "C",
      model_place text collate "C",
      end_place text collate "C",
      was jsonb,
      primary key (tenant_id, run_id)
    );
    create index runs_newest on runs (tenant_id, started_at desc, run_id desc);
    create index runs_by_agent on runs (tenant_id, agent_id, started_at desc);
    create index runs_by_session on runs (tenant_id, session_id) where session_id is not null;

    create table events (
      tenant_id text not null,
      occurred_at timestamptz not null,
      event_id text not null,
      run_id text not null,
      agent_id text not null,
      session_id text,
      kind text not null,
      dialect text not null,
      source_type text not null,
      severity text not null,
      is_error boolean not null,
      tool_name text,
      call_id text,
      model text,
      provider text,
      input_tokens bigint,
      output_tokens bigint,
      total_tokens bigint,
      cost_usd numeric(14,6),
      cost_source text,
      latency_ms double precision,
      tags text[] not null default '{}',
      payload jsonb not null,
      metadata jsonb not null,
      hash text not null,
      received_at timestamptz not null,
      primary key (tenant_id, occurred_at, event_id)
    ) partition by range (occurred_at);
    create index events_by_run on events (tenant_id, run_id, occurred_at);

    create table agent_daily (
      tenant_id text not null,
      agent_id text not null,
      day date not null,
      event_count bigint not null default 0,
      error_count bigint not null default 0,
      tool_call_count bigint not null default 0,
      tool_error_count bigint not null default 0,
      llm_call_count bigint not null default 0,
      input_tokens bigint not null default 0,
      output_tokens bigint not null default 0,
      cost_usd numeric(14,6) not null default 0,
      run_count bigint not null default 0,
      run_error_count bigint not null default 0,
      run_succeeded_count bigint not null default 0,
      run_duration_ms bigint not null default 0,
      run_cost_usd numeric(14,6) not null default 0,
      primary key (tenant_id, agent_id, day)
    );

    create table guardrail_rules (
      tenant_id text not null,
      rule_id text not null,
      version integer not null,
      name text not null,
      description text,
      enabled boolean not null,
      condition_type text not null,
      condition_config jsonb not null,
      action_type text not null,
      action_config jsonb not null,
      agent_id text,
      cooldown_minutes integer not null,
      dry_run boolean not null,
      direction text not null,
      tool_names text[],
      priority integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      deleted_at timestamptz,
      primary key (tenant_id, rule_id)
    );
    create index guardrail_rules_changed on guardrail_rules (updated_at);

    create table guardrail_states (
      tenant_id text not null,
      rule_id text not null,
      agent_id text not null,
      last_evaluated_at timestamptz not null,
      current_value double precision,
      degraded_reason text,
      primary key (tenant_id, rule_id, agent_id)
    );

    create table guardrail_triggers (
      tenant_id text not null,
      triggered_at timestamptz not null,
      trigger_id text not null,
      rule_id text not null,
      rule_version integer not null,
      rule_name text not null,
      agent_id text not null,
      run_id text,
      event_id text,
      condition_type text not null,
      condition_value double precision not null,
      condition_threshold double precision not null,
      action_type text not null,
      message text not null,
      dry_run boolean not null,
      cooldown_minutes integer not null default 0,
      action_result text not null check (action_result in
        ('pending', 'retrying', 'success', 'failed', 'dry_run', 'cooldown')),
      action_detail text,
      settled_at timestamptz,
      primary key (tenant_id, triggered_at, trigger_id)
    ) partition by range (triggered_at);
    create index guardrail_triggers_by_rule on guardrail_triggers (tenant_id, rule_id, triggered_at desc);
    create index guardrail_triggers_by_agent on guardrail_triggers (tenant_id, agent_id, triggered_at desc);

    -- The authority on cooldowns, and the exact count of effective triggers, per rule, agent and mode.
    create table trigger_cooldowns (
      tenant_id text not null,
      rule_id text not null,
      agent_id text not null,
      dry_run boolean not null,
      trigger_id text not null,
      last_triggered_at timestamptz not null,
      cooling_until timestamptz not null,
      trigger_count bigint not null,
      primary key (tenant_id, rule_id, agent_id, dry_run)
    );

    create table deliveries (
      tenant_id text not null,
      delivery_id text not null,
      trigger_id text not null,
      triggered_at timestamptz not null,
      rule_id text not null,
      agent_id text not null,
      action_type text not null,
      action_config jsonb not null,
      -- SHA-256 of the address it calls; null where the action calls nobody. For fairness between destinations.
      destination text,
      -- W3C trace context of the trigger, so that an attempt hours later still belongs to its trace.
      traceparent text,
      result text not null,
      attempts integer not null default 0,
      next_attempt_at timestamptz,
      lease_until timestamptz,
      lease_id text,
      detail text,
      created_at timestamptz not null,
      settled_at timestamptz,
      primary key (tenant_id, delivery_id)
    );
    create index deliveries_due on deliveries (next_attempt_at) where next_attempt_at is not null;
    create index deliveries_by_trigger on deliveries (tenant_id, trigger_id);

    create table delivery_attempts (
      tenant_id text not null,
      delivery_id text not null,
      attempt integer not null,
      started_at timestamptz not null,
      finished_at timestamptz not null,
      outcome text not null check (outcome in ('delivered', 'retry', 'rejected')),
      http_status integer,
      detail text,
      primary key (tenant_id, delivery_id, attempt)
    );

    -- Receivers that answered 410 Gone, by SHA-256 of the address: nothing is sent there until it is enabled again.
    create table destinations (
      tenant_id text not null,
      destination text not null,
      label text not null,
      disabled_at timestamptz,
      disabled_reason text,
      primary key (tenant_id, destination)
    );

    create table agent_directives (
      tenant_id text not null,
      agent_id text not null,
      directive_id text not null,
      version integer not null,
      paused_at timestamptz,
      pause_reason text,
      pause_trigger_id text,
      model_override text,
      model_override_at timestamptz,
      model_override_reason text,
      model_override_trigger_id text,
      issued_at timestamptz not null,
      primary key (tenant_id, agent_id)
    );

    -- Facts to publish, written in the transaction that made them true; drained by the writer's relay.
    create table outbox (
      id bigint generated always as identity primary key,
      writer text not null,
      topic text not null,
      body jsonb not null,
      created_at timestamptz not null
    );
    create index outbox_by_writer on outbox (writer, id);

    -- What lies outside the partitions made ahead, such as a clock gone wrong, costs a row here and never a batch.
    create table events_other partition of events default;
    create table guardrail_triggers_other partition of guardrail_triggers default;
  `.execute(db);

  for (const table of [...TENANT_TABLES, 'events_other', 'guardrail_triggers_other']) {
    await sql`
      alter table ${sql.table(table)} enable row level security;
      alter table ${sql.table(table)} force row level security;
    `.execute(db);
  }

  await sql`
    -- Moving rows out of a default partition is the owner's work, and FORCE binds the owner too.
    create policy events_other_owner on events_other for all to current_user using (true) with check (true);
    create policy guardrail_triggers_other_owner on guardrail_triggers_other for all to current_user
      using (true) with check (true);

    -- Partitions are made and dropped by the owner on behalf of services that may not create tables. Direct access to
    -- one is impossible: services hold grants on the parent only, and each partition forces row level security too.
    -- Answers whether it made one.
    create function ensure_partition(parent regclass, from_time timestamptz, to_time timestamptz) returns boolean
    language plpgsql security definer
    set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
    declare
      child text := parent::text || '_' || to_char(from_time, 'YYYYMMDD');
      other text := parent::text || '_other';
      key text := case parent::text when 'events' then 'occurred_at' else 'triggered_at' end;
    begin
      if parent::text not in ('events', 'guardrail_triggers') then
        raise exception 'ensure_partition: % is not a partitioned table of agentlens', parent;
      end if;
      if to_regclass(child) is not null then
        return false;
      end if;
      perform pg_advisory_xact_lock(hashtext('agentlens:' || parent::text));
      -- Not to_regclass: what it remembers from above may be older than what the lock waited for.
      if exists (select from pg_class where relname = child and relnamespace = 'public'::regnamespace) then
        return false;
      end if;
      -- Attaching locks the parent less than CREATE TABLE ... PARTITION OF does: readers and writers go on.
      execute format('create table %I (like %I including all)', child, parent::text);
      execute format('lock table %I in access exclusive mode', other);
      execute format(
        'with moved as (delete from %1$I where %2$I >= %3$L and %2$I < %4$L returning *) insert into %5$I select * from moved',
        other, key, from_time, to_time, child);
      execute format('alter table %I enable row level security', child);
      execute format('alter table %I force row level security', child);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent::text, child, from_time, to_time);
      return true;
    end
    $$;

    -- Drops the partitions that end at or before the given time, clears older rows out of the default one, and answers
    -- how many partitions it dropped.
    create function drop_partitions(parent regclass, before_time timestamptz) returns integer
    language plpgsql security definer
    set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
    declare
      child record;
      dropped integer := 0;
    begin
      if parent::text not in ('events', 'guardrail_triggers') then
        raise exception 'drop_partitions: % is not a partitioned table of agentlens', parent;
      end if;
      for child in
        select c.relname, substring(pg_get_expr(c.relpartbound, c.oid) from $re$TO [(]'([^']+)'[)]$re$)::timestamptz as ends_at
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = parent order by c.relname
      loop
        continue when child.ends_at is null or child.ends_at > before_time;
        execute format('drop table %I', child.relname);
        dropped := dropped + 1;
      end loop;
      execute format('delete from %I where %I < %L', parent::text || '_other',
        case parent::text when 'events' then 'occurred_at' else 'triggered_at' end, before_time);
      return dropped;
    end
    $$;
  `.execute(db);
}
