import type { GuardrailRule } from '@agentlens/contracts';
import { mapActionSecrets, maskSecret } from '@agentlens/guardrails';
import type { SecretBox } from '@agentlens/platform';

/** Binds a sealed secret to its rule. */
function contextOf({ tenantId, id }: GuardrailRule): string[] {
  return [tenantId, 'guardrail_rules', id];
}

/**
 * The rule as it is stored. Seals every secret, even text that looks sealed: it comes from a client like any other
 * text.
 */
export function sealed(rule: GuardrailRule, box: SecretBox): GuardrailRule {
  const seal = (text: string) => box.seal(text, contextOf(rule));
  return { ...rule, actionConfig: mapActionSecrets(rule.actionType, rule.actionConfig, seal) };
}

/**
 * The stored rule with readable secrets. A secret whose key is gone stays sealed, so that the rest of the rule can be
 * changed.
 */
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

/** The rule with masked secrets, safe to show. */
export function masked(rule: GuardrailRule): GuardrailRule {
  return { ...rule, actionConfig: mapActionSecrets(rule.actionType, rule.actionConfig, maskSecret) };
}
