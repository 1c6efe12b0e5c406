import type { ChangeRow, DecisionRow } from '@agentlens/log';
import { type Kysely, sql } from 'kysely';
import type { Tables } from '../schema/tables.ts';

/** Rows of decisions as the log sees them, by id. */
export async function readDecisionRows(
  db: Kysely<Tables>,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DecisionRow & { readonly run_id: string }>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<DecisionRow & { readonly decision_id: string; readonly run_id: string }>`
    select decision_id, run_id, agent_id, phase, tool_name, call_id, verdict, control, effect, cause, message,
      evaluated_rules, final_rule_id, approval_id, bypasses, inputs_digest, latency_ms, decided_at, reason, budget_id,
      would_have, decider, arguments, arguments_cut
    from decisions where tenant_id = ${tenantId} and decision_id = any(${[...ids]}::text[])`.execute(db);
  return new Map(rows.map((row) => [row.decision_id, row]));
}

/** Rows of the audit log, by id. */
export async function readChangeRows(
  db: Kysely<Tables>,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ChangeRow>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<ChangeRow & { readonly entry_id: string }>`
    select entry_id, kind, target, target_id, key_id, key_name, person, person_id, via, session_id, reason, before, after
    from audit_entries where tenant_id = ${tenantId} and entry_id = any(${[...ids]}::text[])`.execute(db);
  return new Map(rows.map((row) => [row.entry_id, row]));
}
