import { type AlertNotice, type JsonObject, timeOrderedId } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import { sql, type Transaction } from 'kysely';
import { z } from 'zod';
import { CHANNEL_NOTICE } from './channel-kinds.ts';
import { channelDestination } from './channels.repository.ts';

/** What a delivery to a channel holds: ids only. Texts are read when it is sent, so erasing them erases them here. */
export const ChannelNoticeConfig = z.object({
  channelId: z.string(),
  noticeId: z.string(),
  reason: z.string().transform((text) => text as AlertNotice['reason']),
  route: z.string(),
  group: z.record(z.string(), z.string()),
  firing: z.array(z.string()),
  resolved: z.array(z.string()),
  more: z.int(),
  everyMs: z.number(),
  /** One of the recipients of a mail channel. */
  recipient: z.string().optional(),
});
export type ChannelNoticeConfig = z.output<typeof ChannelNoticeConfig>;

/** True if a queued notice says that something ended, and nothing else. */
export function showsOnlyEnds({ firing, resolved }: JsonObject): boolean {
  return Array.isArray(firing) && firing.length === 0 && Array.isArray(resolved) && resolved.length > 0;
}

export interface NewNotice {
  readonly tenantId: string;
  readonly channelId: string;
  readonly reason: AlertNotice['reason'];
  readonly route: string;
  readonly groupId: string | null;
  readonly group: Readonly<Record<string, string>>;
  /** Notices with one key arrive one after the other. */
  readonly orderKey: string;
  readonly firing: readonly string[];
  readonly resolved: readonly string[];
  readonly everyMs: number;
  readonly recipient?: string | undefined;
  /** The first alert, for lists of deliveries. */
  readonly about: { readonly alertId: string; readonly ruleId: string; readonly agentId: string };
}

/** A notice names so many alerts and counts the rest. */
const MAX_ALERTS = 200;

/** Queues notices with their deliveries, in this transaction. @returns ids of the deliveries */
export async function queueNotices(
  tx: Transaction<Tables>,
  notices: readonly NewNotice[],
  nowMs: number,
): Promise<string[]> {
  if (notices.length === 0) return [];
  const at = new Date(nowMs).toISOString();
  const rows = notices.map((notice) => ({ notice, noticeId: timeOrderedId(nowMs), deliveryId: timeOrderedId(nowMs) }));
  const queued = rows.map(({ notice, noticeId, deliveryId }) => {
    const { tenantId, channelId, groupId, reason, route, group, firing, resolved, everyMs, recipient, about } = notice;
    const config: ChannelNoticeConfig = {
      ...{ channelId, noticeId, reason, route, group: { ...group }, everyMs, recipient },
      ...{ firing: firing.slice(0, MAX_ALERTS), resolved: resolved.slice(0, MAX_ALERTS) },
      more: Math.max(0, firing.length - MAX_ALERTS),
    };
    return {
      ...{ tenant_id: tenantId, delivery_id: deliveryId, channel_id: channelId, action_config: config },
      ...{ trigger_id: about.alertId, rule_id: about.ruleId, agent_id: about.agentId },
      ...{ destination: channelDestination(channelId), order_key: notice.orderKey },
      ...{ notice_id: noticeId, route_id: route, group_id: groupId, reason, firing, resolved },
      // A fallback that fails too passes the notice on, along its chain.
      fell_back: reason === 'test',
    };
  });
  await sql`
    with q as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(queued)}::jsonb) as q (tenant_id text, delivery_id text,
        channel_id text, action_config jsonb, trigger_id text, rule_id text, agent_id text, destination text, order_key text,
        notice_id text, route_id text, group_id text, reason text, firing text[], resolved text[], fell_back boolean)
    ), delivered as (
      insert into deliveries (tenant_id, delivery_id, channel_id, action_config, trigger_id, rule_id, agent_id, destination,
        order_key, order_n, action_type, triggered_at, created_at, next_attempt_at, result)
      select tenant_id, delivery_id, channel_id, action_config, trigger_id, rule_id, agent_id, destination, order_key,
        nextval('delivery_order'), ${CHANNEL_NOTICE}, ${at}::timestamptz, ${at}::timestamptz, ${at}::timestamptz, 'pending'
      from q
    ), noticed as (
      insert into notices (tenant_id, notice_id, channel_id, route_id, group_id, reason, at, delivery_id, fell_back)
      select tenant_id, notice_id, channel_id, route_id, group_id, reason, ${at}::timestamptz, delivery_id, fell_back from q
    )
    insert into notice_alerts (tenant_id, alert_id, notice_id, state)
    select q.tenant_id, a.alert_id, q.notice_id, a.state
    from q, lateral (select unnest(q.firing), 'firing' union all select unnest(q.resolved), 'resolved') as a (alert_id, state)
    on conflict do nothing
  `.execute(tx);
  return rows.map(({ deliveryId }) => deliveryId);
}
