import { GuardrailRule, type JsonObject } from '@agentlens/contracts';
import type { GuardrailRulesTable } from '@agentlens/database';
import { mapActionSecrets, maskSecret } from '@agentlens/guardrails';
import type { SecretBox } from '@agentlens/platform';
import type { Selectable } from 'kysely';

/** A rule as it is shown: secrets of its action are masked. A PUT that sends a mask back keeps the stored secret. */
export const RuleView = GuardrailRule.meta({ id: 'GuardrailRule' });
export type RuleView = GuardrailRule;

export function ruleFromRow(row: Selectable<GuardrailRulesTable>, secrets: SecretBox): RuleView {
  return masked(
    {
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
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    },
    secrets,
  );
}

/** The rule with every secret of its action masked, whether it comes sealed, plain or masked already. */
export function masked(rule: GuardrailRule, secrets: SecretBox): RuleView {
  const context = [rule.tenantId, 'guardrail_rules', rule.id];
  const actionConfig: JsonObject = mapActionSecrets(rule.actionType, rule.actionConfig, (text) =>
    maskSecret(opened(text, context, secrets)),
  );
  return { ...rule, actionConfig };
}

/** A secret that cannot be opened (its key is gone) must not make the rule unreadable. */
function opened(text: string, context: readonly string[], secrets: SecretBox): string {
  if (!secrets.isSealed(text)) return text;
  try {
    return secrets.open(text, context);
  } catch {
    return '';
  }
}
