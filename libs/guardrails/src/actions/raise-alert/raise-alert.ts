import { HttpAddress } from '@agentlens/contracts';
import { z } from 'zod';
import type { AlertRaised, ExecutedAction } from '../../catalog/action-module.ts';
import { WebhookSecret } from '../notify-webhook/notify-webhook.ts';

const AlertConfig = z
  .strictObject({
    severity: z.enum(['info', 'warn', 'error', 'critical']).default('warn').meta({ title: 'Severity' }),
    title: z.string().trim().min(1).max(200).optional().meta({ title: 'Title' }),
    message: z.string().trim().min(1).max(2000).optional().meta({ title: 'Message' }),
    webhookUrl: HttpAddress.optional().meta({ title: 'Webhook for every change of the alert' }),
    webhookAlso: z
      .array(z.enum(['approval', 'breaker']))
      .max(2)
      .optional()
      .meta({ title: 'Also notify about other alerts of these agents' }),
    secret: WebhookSecret.optional().meta({ title: 'Signing secret', secret: true }),
  })
  .refine(({ webhookUrl, secret }) => webhookUrl !== undefined || secret === undefined, {
    path: ['secret'],
    message: 'signs calls of "webhookUrl": set that too, or remove the secret',
  })
  .refine(({ webhookUrl, webhookAlso }) => webhookUrl !== undefined || webhookAlso === undefined, {
    path: ['webhookAlso'],
    message: 'selects more alerts for "webhookUrl": set that too, or remove this',
  });
type AlertConfig = z.infer<typeof AlertConfig>;

const DETAIL: Readonly<Record<AlertRaised, string>> = {
  raised: 'alert raised',
  folded: 'counted on the open alert of this rule',
  held_back: 'too many alerts: counted, not raised',
};

/** Raises an alert for a person to acknowledge. The dispatcher notifies `webhookUrl` of each change. */
export const raiseAlert: ExecutedAction<AlertConfig> = {
  type: 'raise_alert',
  title: 'Raise an alert',
  description: 'Asks a person to look. One alert per agent and run stays open until it is acknowledged.',
  config: AlertConfig,
  example: { severity: 'error', title: 'Look at this agent' },
  phases: ['stream'],
  urgency: 'control',
  secrets: ['secret'],
  addresses: ['webhookUrl'],
  callsOut: false,
  async execute({ severity, title, message }, trigger, { alerts }) {
    const raised = await alerts.raise({
      tenantId: trigger.tenantId,
      agentId: trigger.agentId,
      runId: trigger.runId,
      ruleId: trigger.ruleId,
      triggerId: trigger.id,
      triggeredAt: trigger.triggeredAt,
      severity,
      title: title ?? trigger.ruleName,
      message: message ?? trigger.message,
    });
    return { kind: 'delivered', detail: DETAIL[raised] };
  },
};
