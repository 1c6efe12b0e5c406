import type { JsonObject } from '@agentlens/contracts';
import { mapActionSecrets } from '@agentlens/guardrails';
import type { SecretBox } from '@agentlens/platform';

/**
 * The config with its secrets in the clear, for the moment of one attempt. They were sealed for the rule they belong to.
 *
 * @throws Error when a secret was altered or sealed with a key this process does not have.
 */
export function openSecrets(secrets: SecretBox, { actionType, actionConfig, tenantId, ruleId }: OfRule): JsonObject {
  const context = [tenantId, 'guardrail_rules', ruleId];
  return mapActionSecrets(actionType, actionConfig, (text) =>
    secrets.isSealed(text) ? secrets.open(text, context) : text,
  );
}

interface OfRule {
  readonly actionType: string;
  readonly actionConfig: JsonObject;
  readonly tenantId: string;
  readonly ruleId: string;
}
