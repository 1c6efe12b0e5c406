import { type Alert, derivedId } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import { type Selectable, sql, type Transaction } from 'kysely';
import { destinationOf } from '../destinations/destination.ts';
import { ALERT_WEBHOOK } from './alert-webhook.ts';

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
