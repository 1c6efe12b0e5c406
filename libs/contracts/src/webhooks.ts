import { z } from 'zod';
import { HttpAddress } from './http-address.ts';
import { displayName, Instant, TenantId } from './ids.ts';

/** What a webhook endpoint can be told of; `approvals` are the alerts that ask about a call, `alerts` the other ones. */
export const WEBHOOK_EVENTS = ['approvals', 'alerts', 'triggers', 'orders', 'breakers', 'budgets', 'audit'] as const;
export const WebhookEvent = z.enum(WEBHOOK_EVENTS);
export type WebhookEvent = z.infer<typeof WebhookEvent>;

/** `standard`: signed JSON as Standard Webhooks 1.0 describes. `slack`: the body of a Slack incoming webhook. */
const WEBHOOK_FORMATS = ['standard', 'slack'] as const;
export const WebhookFormat = z.enum(WEBHOOK_FORMATS);
export type WebhookFormat = z.infer<typeof WebhookFormat>;

const NAME = displayName(z.string().trim());
const EVENTS = z
  .array(WebhookEvent)
  .min(1, 'must name at least one kind of event')
  .transform((events) => [...new Set(events)]);

/** Body of a new webhook endpoint. */
export const WebhookDraft = z.strictObject({
  url: HttpAddress,
  events: EVENTS,
  format: WebhookFormat.default('standard'),
  name: NAME.optional(),
  enabled: z.boolean().default(true),
});
export type WebhookDraft = z.infer<typeof WebhookDraft>;

/** What is to be changed of a webhook endpoint; what is absent stays. */
export const WebhookPatch = z
  .strictObject({
    url: HttpAddress,
    events: EVENTS,
    format: WebhookFormat,
    name: NAME.nullable(),
    enabled: z.boolean(),
  })
  .partial();
export type WebhookPatch = z.infer<typeof WebhookPatch>;

/** An address that a tenant wants told of what happens, without its signing secret. */
export const WebhookEndpoint = z.object({
  id: z.string(),
  tenantId: TenantId,
  name: z.string().optional(),
  url: z.string(),
  events: z.array(WebhookEvent),
  format: WebhookFormat,
  enabled: z.boolean(),
  version: z.int().min(1),
  createdAt: Instant,
  updatedAt: Instant,
});
export type WebhookEndpoint = z.infer<typeof WebhookEndpoint>;

/** With its signing secret: answered when the secret is made, and never again. */
export const NewWebhookEndpoint = WebhookEndpoint.extend({
  secret: z.string().meta({ description: 'Signs every call (`whsec_…`, Standard Webhooks). It is shown only here.' }),
});
export type NewWebhookEndpoint = z.infer<typeof NewWebhookEndpoint>;
