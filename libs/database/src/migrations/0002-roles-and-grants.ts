import { type Kysely, sql } from 'kysely';
import {
  type Access,
  DISPATCHER,
  EVALUATOR,
  INGEST,
  openTable,
  QUERY,
  READER,
  ROLES,
  RUN_TRACKING,
} from './open-table.ts';

/** One writer per table; who else reads it across tenants. `query` and the tenant-bound reader read every table. */
const ACCESS: Readonly<Record<string, Access>> = {
  agents: { writers: [RUN_TRACKING], readers: [EVALUATOR, DISPATCHER] },
  runs: { writers: [RUN_TRACKING], readers: [EVALUATOR, DISPATCHER] },
  events: { writers: [RUN_TRACKING], readers: [EVALUATOR, DISPATCHER] },
  agent_daily: { writers: [RUN_TRACKING], readers: [EVALUATOR] },
  guardrail_rules: { writers: [EVALUATOR], readers: [DISPATCHER] },
  guardrail_states: { writers: [EVALUATOR], readers: [] },
  guardrail_triggers: { writers: [DISPATCHER], readers: [EVALUATOR] },
  trigger_cooldowns: { writers: [DISPATCHER], readers: [EVALUATOR] },
  deliveries: { writers: [DISPATCHER], readers: [] },
  delivery_attempts: { writers: [DISPATCHER], readers: [] },
  destinations: { writers: [DISPATCHER], readers: [] },
  agent_directives: { writers: [DISPATCHER], readers: [INGEST, EVALUATOR] },
  api_keys: { writers: [QUERY], readers: [INGEST] },
};

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const role of ROLES) await createRole(db, role);
  for (const [table, access] of Object.entries(ACCESS)) await openTable(db, table, access);
  await sql
    .raw(`
    create policy tenants_services on tenants for all to ${QUERY} using (true) with check (true);
    create policy tenants_read on tenants for select to ${[INGEST, RUN_TRACKING, EVALUATOR, DISPATCHER].join(', ')} using (true);
    create policy tenants_own on tenants for select to ${READER} using (id = current_setting('agentlens.tenant', true));
    alter table tenants enable row level security;
    alter table tenants force row level security;
    grant select, insert, update, delete on tenants to ${QUERY};
    grant select on tenants to ${[INGEST, RUN_TRACKING, EVALUATOR, DISPATCHER, READER].join(', ')};

    grant select, insert, delete on outbox to ${[RUN_TRACKING, EVALUATOR, DISPATCHER, QUERY].join(', ')};
    -- Row locks of the relay ask for the update privilege.
    grant update on outbox to ${[RUN_TRACKING, EVALUATOR, DISPATCHER, QUERY].join(', ')};

    revoke all on function ensure_partition(regclass, timestamptz, timestamptz) from public;
    revoke all on function drop_partitions(regclass, timestamptz) from public;
    grant execute on function ensure_partition(regclass, timestamptz, timestamptz) to ${RUN_TRACKING}, ${DISPATCHER};
    grant execute on function drop_partitions(regclass, timestamptz) to ${RUN_TRACKING}, ${DISPATCHER};
  `)
    .execute(db);
}

/**
 * Roles belong to the server, not to the database: another database of this server may be making the same one at this
 * moment, under a lock we cannot share. Losing that race is success.
 */
export async function createRole(db: Kysely<unknown>, role: string): Promise<void> {
  await sql
    .raw(`
    do $$
    declare
      usable boolean;
    begin
      if not exists (select from pg_roles where rolname = '${role}') then
        begin
          create role ${role} nologin noinherit nobypassrls;
        exception when duplicate_object or unique_violation then
          null;
        end;
      end if;
      for attempt in 1..50 loop
        -- From 16 on membership alone does not allow SET ROLE.
        if current_setting('server_version_num')::int >= 160000 then
          usable := pg_has_role(current_user, '${role}', 'SET');
        else
          usable := pg_has_role(current_user, '${role}', 'MEMBER');
        end if;
        exit when usable;
        begin
          execute format('grant %I to %I', '${role}', current_user);
        exception when unique_violation or internal_error then
          perform pg_sleep(0.02);
        end;
      end loop;
    end
    $$;
  `)
    .execute(db);
}
