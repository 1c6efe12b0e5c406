import { Alert, derivedId } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { ActionDependencies, ActionOutcome } from '@agentlens/guardrails';
import { postWebhook } from '@agentlens/guardrails/actions';
import { type Selectable, sql, type Transaction } from 'kysely';
import { z } from 'zod';
import { destinationOf } from '../destinations/destinations.ts';

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

type Listener = Pick<Selectable<Tables['guardrail_rules']>, 'rule_id' | 'action_config'>;

/**
 * Queues word of an alert for the address its rule names (as the rule stands now; deleted rules stay readable), and for
 * the rules that listen to alerts of this kind. The delivery goes by the id of the alert where others go by that of their
 * trigger.
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
        // The secret stays sealed, and it was sealed for this rule.
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
