import { ACTION_RESULTS } from '@agentlens/contracts';
import type { GuardrailTriggersTable } from '@agentlens/database';
import type { Selectable } from 'kysely';
import { z } from 'zod';

/** One row of the history. `metadata` is what AgentLens clients read; the rest says the same and more, flat. */
export const TriggerView = z
  .object({
    id: z.string(),
    ruleId: z.string(),
    tenantId: z.string(),
    triggeredAt: z.string(),
    conditionValue: z.number(),
    conditionThreshold: z.number(),
    actionExecuted: z.boolean().meta({ description: 'The action was attempted at least once.' }),
    actionResult: z.enum(ACTION_RESULTS),
    actionDetail: z.string().optional().meta({ description: 'Why it failed or is retried.' }),
    settledAt: z.string().optional(),
    metadata: z.object({
      agentId: z.string(),
      sessionId: z.string().optional(),
      eventId: z.string().optional(),
      dryRun: z.boolean(),
      message: z.string(),
    }),
    agentId: z.string(),
    ruleName: z.string(),
    ruleVersion: z.int(),
    conditionType: z.string(),
    actionType: z.string(),
  })
  .meta({ id: 'Trigger' });
export type TriggerView = z.infer<typeof TriggerView>;

const ATTEMPTED: readonly string[] = ['success', 'failed', 'retrying'];

export function triggerFromRow(row: Selectable<GuardrailTriggersTable>): TriggerView {
  return {
    id: row.trigger_id,
    ruleId: row.rule_id,
    tenantId: row.tenant_id,
    triggeredAt: row.triggered_at,
    conditionValue: row.condition_value,
    conditionThreshold: row.condition_threshold,
    actionExecuted: ATTEMPTED.includes(row.action_result),
    actionResult: row.action_result,
    ...(row.action_detail === null ? {} : { actionDetail: row.action_detail }),
    ...(row.settled_at === null ? {} : { settledAt: row.settled_at }),
    metadata: {
      agentId: row.agent_id,
      ...(row.run_id === null ? {} : { sessionId: row.run_id }),
      ...(row.event_id === null ? {} : { eventId: row.event_id }),
      dryRun: row.dry_run,
      message: row.message,
    },
    agentId: row.agent_id,
    ruleName: row.rule_name,
    ruleVersion: row.rule_version,
    conditionType: row.condition_type,
    actionType: row.action_type,
  };
}
