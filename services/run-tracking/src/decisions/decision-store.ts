import type { Decision } from '@agentlens/contracts';
import type { Pool } from 'pg';

const RECORD_DECISIONS = `
insert into decisions (tenant_id, decision_id, run_id, agent_id, phase, tool_name, call_id, verdict, control, effect, cause,
  message, evaluated_rules, final_rule_id, approval_id, bypasses, inputs_digest, latency_ms, decided_at)
select "tenantId", id, "runId", "agentId", phase, "toolName", "callId", verdict, control, effect, cause, message,
  "evaluatedRules", "finalRuleId", "approvalId", bypasses, "inputsDigest", "latencyMs", "decidedAt"
from jsonb_to_recordset($1::jsonb) as d("tenantId" text, id text, "runId" text, "agentId" text, phase text, "toolName" text,
  "callId" text, verdict text, control text, effect text, cause jsonb, message text, "evaluatedRules" jsonb,
  "finalRuleId" text, "approvalId" text, bypasses jsonb, "inputsDigest" text, "latencyMs" double precision,
  "decidedAt" timestamptz)
order by 1, 2
on conflict (tenant_id, decision_id) do nothing`;

/** One statement may run for ten seconds; this many rows take well under one. */
const ROWS_AT_ONCE = 5_000;

const DROP_DECISIONS = `
delete from decisions where ctid = any(array(select ctid from decisions where decided_at < $1 limit ${ROWS_AT_ONCE}))`;

/** Where decisions become rows, each once however often it is told. */
export class DecisionStore {
  constructor(private readonly pool: Pool) {}

  /** All or nothing. Answers how many were new. @throws what Postgres says. */
  async record(decisions: readonly Decision[]): Promise<number> {
    const { rowCount } = await this.pool.query({
      name: 'record-decisions',
      text: RECORD_DECISIONS,
      values: [JSON.stringify(decisions)],
    });
    return rowCount ?? 0;
  }

  /** Retention, across tenants. Drops a bounded number of rows, and says whether more are left. */
  async dropBefore(instant: string): Promise<{ readonly dropped: number; readonly more: boolean }> {
    const { rowCount } = await this.pool.query(DROP_DECISIONS, [instant]);
    const dropped = rowCount ?? 0;
    return { dropped, more: dropped === ROWS_AT_ONCE };
  }
}
