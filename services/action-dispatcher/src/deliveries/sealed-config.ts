import type { JsonObject } from '@agentlens/contracts';
import { mapActionSecrets } from '@agentlens/guardrails/actions';
import type { SecretBox } from '@agentlens/platform';
import { ALERT_WEBHOOK } from '../alerts/alert-webhook.ts';
import { secretContext } from '../webhooks/webhook-endpoints.service.ts';

/**
 * Opens the secrets of an action's config for one attempt. They are sealed for the rule or webhook endpoint that they
 * belong to.
 *
 * @throws Error if a secret was altered or sealed with a key that this process does not have
 */
export function openSecrets(
  secrets: SecretBox,
  { actionType, actionConfig, tenantId, ruleId, webhookId }: Sealed,
): JsonObject {
  const context = webhookId === null ? [tenantId, 'guardrail_rules', ruleId] : secretContext(tenantId, webhookId);
  const opened = (text: string) => (secrets.isSealed(text) ? secrets.open(text, context) : text);
  if (actionType !== ALERT_WEBHOOK && webhookId === null) return mapActionSecrets(actionType, actionConfig, opened);
  const { secret, ...rest } = actionConfig;
  return typeof secret === 'string' ? { ...rest, secret: opened(secret) } : rest;
}

interface Sealed {
  readonly actionType: string;
  readonly actionConfig: JsonObject;
  readonly tenantId: string;
  readonly ruleId: string;
  readonly webhookId: string | null;
}
