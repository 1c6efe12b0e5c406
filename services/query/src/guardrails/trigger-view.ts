import type { GuardrailTriggersTable } from '@agentlens/database';
import type { TriggerView } from '@agentlens/operations';
import type { Selectable } from 'kysely';

const ATTEMPTED: readonly string[] = ['success', 'failed', 'retrying'];

export function triggerFromRow(row: Selectable<GuardrailTriggersTable>): TriggerView {
  return {
    id: row.trigger_id,
    ruleId: row.rule_id,
    tenantId: row.tenant_id,
    triggeredAt: row.triggered_at,
    conditionValue: row.condition_value,
    conditionThreshold: row.condition_threshold,
    ...(row.comparison === null ? {} : { comparison: row.comparison }),
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
