import type { GuardrailRule } from '@agentlens/contracts';
import type { Selectable } from 'kysely';
import type { GuardrailRulesTable } from '../schema/tables.ts';

/** A rule as its row says it, for its writer and its readers; secrets of its action are sealed as they are stored. */
export function ruleFromRow(row: Selectable<GuardrailRulesTable>): GuardrailRule {
  return {
    id: row.rule_id,
    tenantId: row.tenant_id,
    version: row.version,
    name: row.name,
    ...(row.description === null ? {} : { description: row.description }),
    enabled: row.enabled,
    conditionType: row.condition_type,
    conditionConfig: row.condition_config,
    actionType: row.action_type,
    actionConfig: row.action_config,
    ...(row.agent_id === null ? {} : { agentId: row.agent_id }),
    cooldownMinutes: row.cooldown_minutes,
    dryRun: row.dry_run,
    direction: row.direction,
    ...(row.tool_names === null ? {} : { toolNames: row.tool_names }),
    priority: row.priority,
    mode: row.mode,
    onMissing: row.on_missing,
    onUnavailable: row.on_unavailable,
    ...(row.selector === null ? {} : { selector: row.selector }),
    ...(row.policy_id === null ? {} : { policyId: row.policy_id }),
    ...(row.key === null ? {} : { key: row.key }),
    ...(row.ruleset === null ? {} : { ruleset: row.ruleset }),
    ...(row.applied_version === null ? {} : { appliedVersion: row.applied_version }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
