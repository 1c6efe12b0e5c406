import type { DecisionsTable } from '@agentlens/database';
import type { DecisionView } from '@agentlens/operations';
import { type Selectable, sql } from 'kysely';
import type { ReadOnly } from '../http/tenant-reads.ts';

interface DecisionRow extends Selectable<DecisionsTable> {
  readonly asked_times?: number | null;
}

/** How often the call of a decision was asked while it waited; null if it did not wait. */
export const ASKED_TIMES = sql<number | null>`case when decisions.cause->>'kind' = 'HITL_PENDING' then (
  select count(*)::int from decisions as asked where asked.tenant_id = decisions.tenant_id
    and asked.approval_id = decisions.approval_id and asked.cause->>'kind' = 'HITL_PENDING') end`;

/** Decisions of a tenant. A call that is asked again while it waits is one of them. */
export function selectDecisions(db: ReadOnly, tenantId: string) {
  return db
    .selectFrom('decisions')
    .selectAll()
    .select(ASKED_TIMES.as('asked_times'))
    .where('tenant_id', '=', tenantId)
    .where('asked_again', '=', false);
}

export function decisionFromRow(row: DecisionRow): DecisionView {
  return {
    id: row.decision_id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    runId: row.run_id,
    phase: row.phase as DecisionView['phase'],
    ...(row.tool_name === null ? {} : { toolName: row.tool_name }),
    ...(row.call_id === null ? {} : { callId: row.call_id }),
    verdict: row.verdict as DecisionView['verdict'],
    control: row.control as DecisionView['control'],
    effect: row.effect as DecisionView['effect'],
    ...(row.would_have === null ? {} : { wouldHave: row.would_have as DecisionView['effect'] }),
    ...(row.reason === null ? {} : { reason: row.reason as DecisionView['reason'] }),
    ...(row.budget_id === null ? {} : { budgetId: row.budget_id }),
    cause: row.cause as unknown as DecisionView['cause'],
    message: row.message,
    evaluatedRules: row.evaluated_rules as DecisionView['evaluatedRules'],
    ...(row.final_rule_id === null ? {} : { finalRuleId: row.final_rule_id }),
    ...(row.approval_id === null ? {} : { approvalId: row.approval_id }),
    ...((row.asked_times ?? 0) > 1 ? { askedTimes: row.asked_times ?? 0 } : {}),
    bypasses: row.bypasses as DecisionView['bypasses'],
    ...(row.decider === null ? {} : { decider: row.decider as DecisionView['decider'] }),
    ...(row.arguments === null ? {} : { arguments: row.arguments }),
    ...(row.arguments_cut === null ? {} : { argumentsCut: row.arguments_cut as DecisionView['argumentsCut'] }),
    inputsDigest: row.inputs_digest,
    latencyMs: row.latency_ms,
    decidedAt: row.decided_at,
  };
}
