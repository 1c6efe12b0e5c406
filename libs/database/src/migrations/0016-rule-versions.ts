import { type Kysely, sql } from 'kysely';
import { EVALUATOR, openTable } from './open-table.ts';

/**
 * Every change of a rule as a version with its author. The rules that exist already begin with the version they have now;
 * what they were before was not kept.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table rule_versions (
      tenant_id text not null,
      rule_id text not null,
      version integer not null,
      -- The rule as the API says it, with its secrets sealed; of a deleted one as it was last.
      body jsonb not null,
      changes jsonb not null,
      deleted boolean not null default false,
      source text not null,
      changed_by text,
      reason text,
      changed_at timestamptz not null,
      primary key (tenant_id, rule_id, version)
    );
    alter table rule_versions enable row level security;
    alter table rule_versions force row level security;
  `.execute(db);
  await openTable(db, 'rule_versions', { writers: [EVALUATOR], readers: [] });
  await sql
    .raw(`
    -- The owner of the tables may be an ordinary login, which row level security would show no rule.
    set local role ${EVALUATOR};
    insert into rule_versions (tenant_id, rule_id, version, body, changes, source, reason, changed_at)
    select tenant_id, rule_id, version,
      jsonb_strip_nulls(jsonb_build_object(
        'id', rule_id, 'tenantId', tenant_id, 'version', version, 'name', name, 'description', description,
        'enabled', enabled, 'conditionType', condition_type, 'actionType', action_type, 'agentId', agent_id,
        'cooldownMinutes', cooldown_minutes, 'dryRun', dry_run, 'direction', direction, 'toolNames', tool_names,
        'priority', priority, 'mode', mode, 'onMissing', on_missing, 'onUnavailable', on_unavailable,
        'selector', selector, 'policyId', policy_id,
        'createdAt', to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'updatedAt', to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      )) || jsonb_build_object('conditionConfig', condition_config, 'actionConfig', action_config),
      '[]', 'api', 'The rule as it was when versions began to be kept', updated_at
    from guardrail_rules where deleted_at is null;
    reset role;

    -- A version is never changed and never taken back.
    revoke update, delete on rule_versions from ${EVALUATOR};
  `)
    .execute(db);
}
