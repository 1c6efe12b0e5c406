import { z } from 'zod';
import { displayName, Instant, TenantId } from './ids.ts';

/** An address chosen by the tenant. This checks only the format; the egress guard decides whether it may be called. */
export const HttpAddress = z
  .string()
  .max(2048)
  .refine((text) => {
    const url = URL.parse(text);
    return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') && url.hostname !== '';
  }, 'must be an http or https address, like "https://example.com/hook"');

/** Events a webhook endpoint can subscribe to; `approvals` are alerts that ask about a call, `alerts` all others. */
export const WEBHOOK_EVENTS = ['approvals', 'alerts', 'triggers', 'orders', 'breakers', 'budgets', 'audit'] as const;
export const WebhookEvent = z.enum(WEBHOOK_EVENTS);
export type WebhookEvent = z.infer<typeof WebhookEvent>;

/** `standard`: signed JSON as in Standard Webhooks 1.0. `slack`: the body of a Slack incoming webhook. */
const WEBHOOK_FORMATS = ['standard', 'slack'] as const;
export const WebhookFormat = z.enum(WEBHOOK_FORMATS);
export type WebhookFormat = z.infer<typeof WebhookFormat>;

const NAME = displayName(z.string().trim());
const EVENTS = z
  .array(WebhookEvent)
  .min(1, 'must name at least one kind of event')
  .transform((events) => [...new Set(events)]);

/** What is wrong with another format for an address of Slack. */
export const ONLY_SLACK = {
  path: ['format'],
  message: 'must be "slack" for an address at hooks.slack.com, because Slack accepts no other format',
};

/** Whether the address takes messages of this format. */
export function takesFormat({ url, format }: { readonly url: string; readonly format: WebhookFormat }): boolean {
  return format === 'slack' || !url.toLowerCase().startsWith('https://hooks.slack.com/');
}

/** Body that creates a webhook endpoint. */
export const WebhookDraft = z
  .strictObject({
    url: HttpAddress,
    events: EVENTS,
    format: WebhookFormat.default('standard'),
    name: NAME.optional(),
    enabled: z.boolean().default(true),
  })
  // A copy, because zod moves the message of the object that it is given.
  .refine(takesFormat, { ...ONLY_SLACK });
export type WebhookDraft = z.infer<typeof WebhookDraft>;

/** Body that changes a webhook endpoint; absent fields stay. */
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

/** An address that a tenant subscribed to events, without its signing secret. */
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

/** An endpoint with its signing secret, returned only when the secret is created. */
export const NewWebhookEndpoint = WebhookEndpoint.extend({
  secret: z.string().meta({ description: 'Signs every request (`whsec_…`, Standard Webhooks). Shown only once.' }),
});
export type NewWebhookEndpoint = z.infer<typeof NewWebhookEndpoint>;
