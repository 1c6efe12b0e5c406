import type { Pool } from 'pg';

// Seeds that would take minutes over HTTP. The rows are copies of rules that were created over HTTP, so they are valid.

/** Deactivates all rules of all tenants. Returns the tenants that had any. */
export async function retireRules(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ tenant_id: string }>(
    `update guardrail_rules set deleted_at = now(), updated_at = now(), version = version + 1
     where deleted_at is null returning tenant_id`,
  );
  return [...new Set(rows.map((row) => row.tenant_id))];
}

/** Copies one rule for agents that send nothing. */
export async function copyRule(pool: Pool, ruleId: string, copies: number): Promise<void> {
  await pool.query(
    `insert into guardrail_rules
     select (jsonb_populate_record(r, jsonb_build_object('rule_id', r.rule_id || '-' || i, 'agent_id', 'absent-' || i))).*
     from guardrail_rules r, generate_series(1, $2::int) i where r.rule_id = $1`,
    [ruleId, copies],
  );
}

/** Copies all active rules of one tenant to others. */
export async function copyRulesTo(pool: Pool, from: string, tenants: readonly string[]): Promise<void> {
  await pool.query(
    `insert into guardrail_rules
     select (jsonb_populate_record(r, jsonb_build_object('rule_id', r.rule_id || '-' || t, 'tenant_id', t))).*
     from guardrail_rules r, unnest($2::text[]) t where r.tenant_id = $1 and r.deleted_at is null`,
    [from, tenants],
  );
}

let announcements = 0;

/** Makes the evaluator notify its replicas, as after a change over HTTP. */
export async function announceRules(pool: Pool, tenants: readonly string[]): Promise<void> {
  announcements += 1;
  await pool.query(
    `insert into outbox (writer, topic, body, created_at)
     select 'guardrail-evaluator', 'control.rules',
       jsonb_build_object('tenantId', t, 'version', 'bench:' || $2::text, 'at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
       now()
     from unnest($1::text[]) t`,
    [tenants, `${process.pid}:${announcements}`],
  );
}

export async function rulesInForce(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::int as count from guardrail_rules where deleted_at is null and enabled',
  );
  return rows[0]?.count ?? 0;
}
