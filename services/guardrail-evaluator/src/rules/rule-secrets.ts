import type { GuardrailRule } from '@agentlens/contracts';
import { mapActionSecrets, maskSecret } from '@agentlens/guardrails';
import type { SecretBox } from '@agentlens/platform';

/** Binds a sealed secret to the rule it belongs to. */
function contextOf({ tenantId, id }: GuardrailRule): string[] {
  return [tenantId, 'guardrail_rules', id];
}

/** The rule as it is stored. Seals whatever it is given: text that looks sealed is a client's text like any other. */
export function sealed(rule: GuardrailRule, box: SecretBox): GuardrailRule {
  const seal = (text: string) => box.seal(text, contextOf(rule));
  return { ...rule, actionConfig: mapActionSecrets(rule.actionType, rule.actionConfig, seal) };
}

/** The stored rule with its secrets readable; one whose key is gone stays sealed, so that the rest can be changed. */
export function opened(rule: GuardrailRule, box: SecretBox): GuardrailRule {
  const open = (text: string) => {
    try {
      return box.open(text, contextOf(rule));
    } catch {
      return text;
    }
  };
  return { ...rule, actionConfig: mapActionSecrets(rule.actionType, rule.actionConfig, open) };
}

/** The rule as it may be shown. */
export function masked(rule: GuardrailRule): GuardrailRule {
  return { ...rule, actionConfig: mapActionSecrets(rule.actionType, rule.actionConfig, maskSecret) };
}
