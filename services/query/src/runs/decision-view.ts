import type { DecisionsTable } from '@agentlens/database';
import type { DecisionView } from '@agentlens/operations';
import type { Selectable } from 'kysely';

export function decisionFromRow(row: Selectable<DecisionsTable>): DecisionView {
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
    bypasses: row.bypasses as DecisionView['bypasses'],
    ...(row.arguments === null ? {} : { arguments: row.arguments }),
    ...(row.arguments_cut === null ? {} : { argumentsCut: row.arguments_cut as DecisionView['argumentsCut'] }),
    inputsDigest: row.inputs_digest,
    latencyMs: row.latency_ms,
    decidedAt: row.decided_at,
  };
}
