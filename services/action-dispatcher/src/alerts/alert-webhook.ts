import { Alert } from '@agentlens/contracts';
import type { ActionDependencies, ActionOutcome } from '@agentlens/guardrails';
import { postWebhook } from '@agentlens/guardrails/actions';
import { z } from 'zod';

/** What a delivery that tells somebody's server of an alert is called; no rule can have it as its action. */
export const ALERT_WEBHOOK = 'alert_webhook';

const AlertWebhookConfig = z.object({ url: z.string(), secret: z.string().optional(), alert: Alert });
type AlertWebhookConfig = z.infer<typeof AlertWebhookConfig>;

/** Carried out like an action, by the same worker, but because an alert changed and not because of a trigger. */
export const alertWebhook = {
  urgency: 'notification',
  config: AlertWebhookConfig,
  address: 'url',
  execute({ url, secret, alert }: AlertWebhookConfig, at: string, tools: ActionDependencies): Promise<ActionOutcome> {
    const body = JSON.stringify({ type: 'alert.changed', timestamp: at, data: alert });
    return postWebhook({ url, secret, body }, tools);
  },
} as const;
