import { WebhookFormat } from '@agentlens/contracts';
import type { ActionDependencies, ActionOutcome } from '@agentlens/guardrails';
import { postWebhook } from '@agentlens/guardrails/actions';
import { z } from 'zod';
import { linkTo } from './message-link.ts';
import { slackBody } from './slack-body.ts';

/** What a delivery to a webhook endpoint is called; no rule can have it as its action. */
export const ENDPOINT_WEBHOOK = 'webhook';

/** What a delivery keeps: the endpoint as it was when it was queued, and what it is told. */
const EndpointWebhookConfig = z.object({
  url: z.string(),
  format: WebhookFormat,
  secret: z.string(),
  message: z.object({ type: z.string(), timestamp: z.string(), data: z.looseObject({}) }),
});
type EndpointWebhookConfig = z.infer<typeof EndpointWebhookConfig>;

/** Carried out like an action, by the same worker. */
export const endpointWebhook = {
  urgency: 'notification',
  config: EndpointWebhookConfig,
  address: 'url',
  /** @param publicUrl where people reach the platform; without it nothing is linked */
  execute(
    { url, format, secret, message }: EndpointWebhookConfig,
    publicUrl: string | undefined,
    tools: ActionDependencies,
  ): Promise<ActionOutcome> {
    const link = linkTo(message, publicUrl);
    const body = format === 'slack' ? slackBody(message, link) : { ...message, url: link };
    return postWebhook({ url, secret, body: JSON.stringify(body) }, tools);
  },
} as const;
