import { Decision, RuleBypass, RuleFinding } from '@agentlens/contracts';
import type { DecisionsTable } from '@agentlens/database';
import type { Selectable } from 'kysely';
import { z } from 'zod';

/** A decision as it is read back: without the arguments, whose digest is kept. */
export const DecisionView = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    agentId: z.string(),
    runId: z.string(),
    phase: Decision.shape.phase,
    toolName: z.string().optional(),
    callId: z.string().optional(),
    verdict: Decision.shape.verdict.meta({ description: 'What the agent was told.' }),
    control: Decision.shape.control,
    effect: Decision.shape.effect.meta({ description: 'What the rules said, enforced or not.' }),
    cause: Decision.shape.cause,
    message: z.string(),
    evaluatedRules: z.array(RuleFinding),
    finalRuleId: z.string().optional(),
    approvalId: z.string().optional(),
    bypasses: z.array(RuleBypass),
    inputsDigest: z.string(),
    latencyMs: z.number(),
    decidedAt: z.string(),
  })
  .meta({ id: 'Decision' });
export type DecisionView = z.infer<typeof DecisionView>;

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
    cause: row.cause as unknown as DecisionView['cause'],
    message: row.message,
    evaluatedRules: row.evaluated_rules as DecisionView['evaluatedRules'],
    ...(row.final_rule_id === null ? {} : { finalRuleId: row.final_rule_id }),
    ...(row.approval_id === null ? {} : { approvalId: row.approval_id }),
    bypasses: row.bypasses as DecisionView['bypasses'],
    inputsDigest: row.inputs_digest,
    latencyMs: row.latency_ms,
    decidedAt: row.decided_at,
  };
}
