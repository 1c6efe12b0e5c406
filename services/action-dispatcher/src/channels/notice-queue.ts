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
/** Reasons that a notice keeps when it takes the place of one that had it, the loudest first. */
const LOUD: readonly AlertNotice['reason'][] = ['escalation', 'first', 'approval', 'new'];

/**
 * Queues notices with their deliveries, in this transaction. A notice takes the place of those before it with its key
 * that nothing has tried to send, so that a receiver that comes back gets the newest state instead of every step to it.
 *
 * @returns ids of the deliveries
 */
export async function queueNotices(
  tx: Transaction<Tables>,
  given: readonly NewNotice[],
  nowMs: number,
): Promise<string[]> {
  if (given.length === 0) return [];
  const at = new Date(nowMs).toISOString();
  const notices = await supersede(tx, given, at);
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

/** @returns the notices, each with what those say whose place it takes */
async function supersede(tx: Transaction<Tables>, notices: readonly NewNotice[], at: string): Promise<NewNotice[]> {
  const { rows } = await sql<{ tenant_id: string; order_key: string; action_config: unknown }>`
    with unsent as (
      select tenant_id, delivery_id from deliveries
      where (tenant_id, order_key) in (
          select * from unnest(${notices.map(({ tenantId }) => tenantId)}::text[], ${notices.map(({ orderKey }) => orderKey)}::text[]))
        and settled_at is null and attempts = 0 and lease_until is null
      for update skip locked
    )
    update deliveries d set result = 'superseded', settled_at = ${at}::timestamptz, next_attempt_at = null,
      detail = 'a newer notice took its place'
    from unsent where d.tenant_id = unsent.tenant_id and d.delivery_id = unsent.delivery_id
    returning d.tenant_id, d.order_key, d.action_config
  `.execute(tx);
  if (rows.length === 0) return [...notices];
  const keyOf = (tenantId: string, orderKey: string) => JSON.stringify([tenantId, orderKey]);
  const older = Map.groupBy(rows, (row) => keyOf(row.tenant_id, row.order_key));
  return notices.map((notice) =>
    (older.get(keyOf(notice.tenantId, notice.orderKey)) ?? []).reduce(
      (newest, row) => inPlaceOf(newest, ChannelNoticeConfig.safeParse(row.action_config).data),
      notice,
    ),
  );
}

/** The notice, with the alerts of an older one about which it says nothing. */
export function inPlaceOf(notice: NewNotice, older: ChannelNoticeConfig | undefined): NewNotice {
  if (older === undefined) return notice;
  const firing = union(
    notice.firing,
    older.firing.filter((id) => !notice.resolved.includes(id)),
  );
  const resolved = union(
    notice.resolved,
    older.resolved.filter((id) => !firing.includes(id)),
  );
  // An end is quiet, also if the receiver never got the beginning.
  const reason =
    firing.length === 0 ? notice.reason : LOUD.find((one) => one === notice.reason || one === older.reason);
  return { ...notice, firing, resolved, reason: reason ?? notice.reason };
}

function union(some: readonly string[], more: readonly string[]): string[] {
  return [...new Set([...some, ...more])];
}
