import { Alert, derivedId } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { ActionDependencies, ActionOutcome } from '@agentlens/guardrails';
import { postWebhook } from '@agentlens/guardrails/actions';
import { type Selectable, sql, type Transaction } from 'kysely';
import { z } from 'zod';
import { destinationOf } from '../destinations/destinations.ts';

/** Action type of deliveries that notify a rule's webhook about its alerts. No rule can use it as its action. */
export const ALERT_WEBHOOK = 'alert_webhook';

const AlertWebhookConfig = z.object({ url: z.string(), secret: z.string().optional(), alert: Alert });
type AlertWebhookConfig = z.infer<typeof AlertWebhookConfig>;

/** Delivered like an action, by the same workers, when an alert changes. */
export const alertWebhook = {
  urgency: 'notification',
  config: AlertWebhookConfig,
  address: 'url',
  execute({ url, secret, alert }: AlertWebhookConfig, at: string, tools: ActionDependencies): Promise<ActionOutcome> {
    const body = JSON.stringify({ type: 'alert.changed', timestamp: at, data: alert });
    return postWebhook({ url, secret, body }, tools);
  },
} as const;

type Listener = Pick<Selectable<Tables['guardrail_rules']>, 'rule_id' | 'action_config'>;

/**
 * Queues a delivery of the alert to the address that its rule names (as the rule is now; deleted rules stay readable)
 * and to webhook endpoints that listen to this kind of alert. The alert id takes the place of the trigger id.
 */
export async function queueAlertWebhooks(tx: Transaction<Tables>, alert: Alert, at: string): Promise<void> {
  for (const { rule_id, action_config } of await listeners(tx, alert)) {
    const { webhookUrl: url, secret } = action_config;
    if (typeof url !== 'string') continue;
    await tx
      .insertInto('deliveries')
      .values({
        tenant_id: alert.tenantId,
        delivery_id: derivedId(Date.parse(at), alert.tenantId, alert.id, alert.version, rule_id),
        trigger_id: alert.id,
        triggered_at: at,
        // The secret stays sealed; it was sealed for this rule.
        rule_id,
        action_config: JSON.stringify({ url, secret, alert }),
        agent_id: alert.agentId,
        action_type: ALERT_WEBHOOK,
        destination: destinationOf(url)?.id ?? null,
        traceparent: null,
        result: 'pending',
        next_attempt_at: at,
        lease_until: null,
        lease_id: null,
        detail: null,
        created_at: at,
        settled_at: null,
      })
      .execute();
  }
}

function listeners(tx: Transaction<Tables>, { tenantId, kind, agentId, ruleId }: Alert): Promise<Listener[]> {
  return tx
    .selectFrom('guardrail_rules')
    .select(['rule_id', 'action_config'])
    .where('tenant_id', '=', tenantId)
    .where('action_type', '=', 'raise_alert')
    .where(sql<boolean>`action_config ? 'webhookUrl'`)
    .where((eb) =>
      eb.or([
        eb('rule_id', '=', ruleId ?? ''),
        eb.and([
          eb('deleted_at', 'is', null),
          eb('enabled', '=', true),
          eb('mode', '=', 'enforce'),
          eb.or([eb('agent_id', 'is', null), eb('agent_id', '=', agentId)]),
          sql<boolean>`action_config -> 'webhookAlso' ? ${kind}`,
        ]),
      ]),
    )
    .orderBy('rule_id')
    .execute();
}
