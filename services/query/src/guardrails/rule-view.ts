import type { GuardrailRule, JsonObject } from '@agentlens/contracts';
import { type GuardrailRulesTable, ruleFromRow } from '@agentlens/database';
import { mapActionSecrets, maskSecret } from '@agentlens/guardrails';
import type { RuleView } from '@agentlens/operations';
import type { SecretBox } from '@agentlens/platform';
import type { Selectable } from 'kysely';

export function ruleViewOf(row: Selectable<GuardrailRulesTable>, secrets: SecretBox): RuleView {
  return masked(ruleFromRow(row), secrets);
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
