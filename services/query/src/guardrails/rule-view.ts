import type { GuardrailRule, JsonObject } from '@agentlens/contracts';
import { type GuardrailRulesTable, ruleFromRow } from '@agentlens/database';
import { mapActionSecrets, maskSecret } from '@agentlens/guardrails';
import type { RuleView } from '@agentlens/operations';
import type { SecretBox } from '@agentlens/platform';
import type { Selectable } from 'kysely';

export function ruleViewOf(row: Selectable<GuardrailRulesTable>, secrets: SecretBox): RuleView {
  return masked(ruleFromRow(row), secrets);
}

/** Returns the rule with every secret of its action masked, whether the secret is sealed, plain or already masked. */
export function masked(rule: GuardrailRule, secrets: SecretBox): RuleView {
  const context = [rule.tenantId, 'guardrail_rules', rule.id];
  const actionConfig: JsonObject = mapActionSecrets(rule.actionType, rule.actionConfig, (text) =>
    maskSecret(opened(text, context, secrets)),
  );
  return { ...rule, actionConfig };
}

/** If a secret cannot be opened because its key is missing, the rule stays readable. */
function opened(text: string, context: readonly string[], secrets: SecretBox): string {
  if (!secrets.isSealed(text)) return text;
  try {
    return secrets.open(text, context);
  } catch {
    return '';
  }
}
