import { HttpAddress, type Trigger } from '@agentlens/contracts';
import { z } from 'zod';
import type { ExecutedAction } from '../../catalog/action-module.ts';
import { postWebhook, webhookKey } from './post-webhook.ts';

/**
 * Headers set by the platform or by HTTP itself. A rule that could set them could forge a signature or smuggle
 * requests.
 */
const RESERVED =
  /^(webhook-.*|host|content-length|content-type|transfer-encoding|connection|upgrade|te|trailer|expect|proxy-.*|keep-alive)$/i;

const headerName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be a header name')
  .refine((name) => !RESERVED.test(name), 'is set by the platform, remove it');
const headerValue = z
  .string()
  .max(4096)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of Latin-1 text');

/** A Standard Webhooks signing secret. */
export const WebhookSecret = z
  .string()
  .max(200)
  .refine((text) => webhookKey(text) !== null, 'must be "whsec_" followed by 24 to 64 random bytes in base64');

const WebhookConfig = z.strictObject({
  url: HttpAddress.meta({ title: 'Address' }),
  headers: z
    .record(headerName, headerValue)
    .refine((headers) => Object.keys(headers).length <= 30, 'at most 30 headers')
    .optional()
    .meta({ title: 'Extra headers', secret: true }),
  secret: WebhookSecret.optional().meta({ title: 'Signing secret', secret: true }),
});
type WebhookConfig = z.infer<typeof WebhookConfig>;

/** Posts the trigger to a webhook, following Standard Webhooks 1.0. */
export const notifyWebhook: ExecutedAction<WebhookConfig> = {
  type: 'notify_webhook',
  title: 'Call a webhook',
  description: 'Sends the trigger to an address and retries until it is accepted. Signed if the rule has a secret.',
  config: WebhookConfig,
  example: { url: 'https://example.com/hooks/agentlens' },
  phases: ['stream'],
  urgency: 'notification',
  secrets: ['secret', 'headers'],
  addresses: ['url'],
  execute: (config, trigger, tools) => postWebhook({ ...config, body: webhookBody(trigger) }, tools),
};

/** `type`, `timestamp` and `data` of Standard Webhooks, plus the flat fields that AgentLens receivers read. */
function webhookBody(trigger: Trigger): string {
  return JSON.stringify({
    type: 'guardrail.triggered',
    timestamp: trigger.triggeredAt,
    data: trigger,
    guardrailId: trigger.ruleId,
    guardrailName: trigger.ruleName,
    conditionType: trigger.conditionType,
    conditionValue: trigger.conditionValue,
    conditionThreshold: trigger.conditionThreshold,
    message: trigger.message,
    agentId: trigger.agentId,
    triggeredAt: trigger.triggeredAt,
  });
}
