import type { AlertNotice } from '@agentlens/contracts';
import { type AlertsTable, labelsFromAlert, shareLockUntilEnd, type Tables } from '@agentlens/database';
import { findRoutes, pickGroup, type RouteNode, type RoutingTree } from '@agentlens/routing';
import { type Selectable, sql, type Transaction } from 'kysely';
import { type ChannelRow, recipientsOf } from '../channels/channels.repository.ts';
import { type NewNotice, queueNotices } from '../channels/notice-queue.ts';
import { groupKey, ROUTING_LOCK, readRoutes } from './routing-state.ts';

type Tx = Transaction<Tables>;
type AlertRow = Selectable<AlertsTable>;

/**
 * Places an alert that was opened or changed, in the transaction of the change. An approval is sent to its channels at
 * once; any other alert joins the groups of its routes, which the flusher sends.
 */
export async function routeAlert(tx: Tx, row: AlertRow, at: string): Promise<void> {
  // An approval stays with the channels that show it.
  if (row.kind === 'approval' && row.version > 1) return announceApproval(tx, row, at);
  await shareLockUntilEnd(tx, ROUTING_LOCK, row.tenant_id);
  const tree = (await readRoutes(tx, row.tenant_id))?.tree;
  if (row.kind === 'approval') return tree === undefined ? undefined : routeApproval(tx, row, tree, at);
  if (row.status !== 'pending') return leaveGroups(tx, row, at);
  if (tree !== undefined) await joinGroups(tx, tree, [row], at);
}

interface Place {
  readonly row: AlertRow;
  readonly node: RouteNode;
  readonly channelId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly groupId: string;
}

/** Adds alerts of one tenant to the groups of their routes, and makes the groups due. */
export async function joinGroups(tx: Tx, tree: RoutingTree, rows: readonly AlertRow[], at: string): Promise<void> {
  const places = rows.flatMap((row) => placesFor(tree, row));
  if (places.length === 0) return;
  const groups = [...new Map(places.map((place) => [place.groupId, place])).values()];
  const nowMs = Date.parse(at);
  const wanted = groups.map(({ row, node, channelId, labels, groupId }) => ({
    ...{ tenant_id: row.tenant_id, group_id: groupId, route_id: node.id, channel_id: channelId, labels },
    ...{ not_before: new Date(nowMs + node.groupWaitMs).toISOString(), interval_ms: node.groupIntervalMs },
  }));
  // In the order of their ids, so that two alerts never wait for each other.
  await sql`
    insert into notice_groups (tenant_id, group_id, route_id, channel_id, labels, not_before, due_at, interval_ms)
    select tenant_id, group_id, route_id, channel_id, labels, not_before, not_before, interval_ms
    from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as given (tenant_id text, group_id text, route_id text,
      channel_id text, labels jsonb, not_before timestamptz, interval_ms bigint)
    order by group_id
    on conflict (tenant_id, group_id) do update set interval_ms = excluded.interval_ms, due_at = least(notice_groups.due_at, greatest(
      ${at}::timestamptz, notice_groups.not_before,
      notice_groups.last_sent_at + excluded.interval_ms * interval '1 millisecond'))
  `.execute(tx);
  await sql`
    insert into notice_members (tenant_id, group_id, alert_id)
    select * from unnest(${places.map(({ row }) => row.tenant_id)}::text[], ${places.map(({ groupId }) => groupId)}::text[],
      ${places.map(({ row }) => row.alert_id)}::text[])
    on conflict do nothing
  `.execute(tx);
}

function placesFor(tree: RoutingTree, row: AlertRow): Place[] {
  const alertLabels = labelsFromAlert(row);
  return findRoutes(tree, alertLabels).flatMap((node) => {
    const labels = pickGroup(node, alertLabels);
    return node.channels.map((channelId) => ({
      ...{ row, node, channelId, labels, groupId: groupKey(node.id, channelId, labels) },
    }));
  });
}

/** Takes an ended alert out of its groups. Each tells its receiver as soon as its interval allows. */
async function leaveGroups(tx: Tx, { tenant_id: tenantId, alert_id: alertId }: AlertRow, at: string): Promise<void> {
  // Locks the groups first, as the flusher does.
  const { rows } = await sql<{ readonly group_id: string }>`
    select g.group_id from notice_groups g join notice_members m using (tenant_id, group_id)
    where m.tenant_id = ${tenantId} and m.alert_id = ${alertId} order by g.group_id for update of g
  `.execute(tx);
  if (rows.length === 0) return;
  const ids = rows.map(({ group_id }) => group_id);
  await sql`
    update notice_groups set due_at = least(due_at, greatest(
      ${at}::timestamptz, not_before, last_sent_at + interval_ms * interval '1 millisecond'))
    where tenant_id = ${tenantId} and group_id = any(${ids})
  `.execute(tx);
  await tx
    .deleteFrom('notice_members')
    .where('tenant_id', '=', tenantId)
    .where('alert_id', '=', alertId)
    .where('group_id', 'in', ids)
    .execute();
}

/** An approval is never silenced or grouped: silence would deny it by expiry. */
async function routeApproval(tx: Tx, row: AlertRow, tree: RoutingTree, at: string): Promise<void> {
  const nowMs = Date.parse(at);
  const nodes = findRoutes(tree, labelsFromAlert(row));
  const channels = new Map(nodes.flatMap((node) => node.channels.map((id) => [id, node.id] as const)));
  await queueNotices(tx, await approvalNotices(tx, row, channels, 'approval'), nowMs);
  return writeSteps(tx, row, nodes, nowMs);
}

/** Sends a change of an approval, or its end, to the channels that show it. */
export async function announceApproval(tx: Tx, row: AlertRow, at: string): Promise<void> {
  const isOpen = row.status === 'pending' || row.status === 'acknowledged';
  if (!isOpen)
    await tx
      .deleteFrom('approval_steps')
      .where('tenant_id', '=', row.tenant_id)
      .where('alert_id', '=', row.alert_id)
      .execute();
  // Its use, or that it was not used, changes no decision.
  if (row.used_at !== null || (row.status === 'expired' && row.decided_by !== null)) return;
  const { rows } = await sql<ChannelRow & { readonly route_id: string }>`
    select distinct on (n.channel_id) c.*, n.route_id
    from notice_alerts a join notices n using (tenant_id, notice_id) join channels c using (tenant_id, channel_id)
    where a.tenant_id = ${row.tenant_id} and a.alert_id = ${row.alert_id} and c.enabled order by n.channel_id, n.at
  `.execute(tx);
  // Only a channel that can change its message shows votes that leave the approval open.
  const wanted = rows.filter(({ kind }) => !isOpen || kind === 'slack_app');
  const routes = new Map(wanted.map(({ channel_id, route_id }) => [channel_id, route_id]));
  await queueNotices(tx, buildApprovalNotices(row, wanted, routes, 'changed'), Date.parse(at));
}

/** Notices about one approval, for each channel and recipient. `channels`: route by channel. */
export async function approvalNotices(
  tx: Tx,
  row: AlertRow,
  channels: ReadonlyMap<string, string>,
  reason: AlertNotice['reason'],
): Promise<NewNotice[]> {
  return buildApprovalNotices(row, await findChannels(tx, row.tenant_id, [...channels.keys()]), channels, reason);
}

function buildApprovalNotices(
  row: AlertRow,
  channels: readonly ChannelRow[],
  routes: ReadonlyMap<string, string>,
  reason: AlertNotice['reason'],
): NewNotice[] {
  const isOpen = row.status === 'pending' || row.status === 'acknowledged';
  return channels.flatMap((channel) =>
    recipientsOf(channel).map((recipient) => ({
      ...{
        tenantId: row.tenant_id,
        channelId: channel.channel_id,
        reason,
        route: routes.get(channel.channel_id) ?? '',
      },
      ...{ groupId: null, group: {}, everyMs: 0, recipient },
      orderKey: JSON.stringify([channel.channel_id, row.alert_id, ...(recipient === undefined ? [] : [recipient])]),
      ...{ firing: isOpen ? [row.alert_id] : [], resolved: isOpen ? [] : [row.alert_id] },
      about: { alertId: row.alert_id, ruleId: row.rule_id ?? '', agentId: row.agent_id },
    })),
  );
}

export async function findChannels(tx: Tx, tenantId: string, ids: readonly string[]): Promise<ChannelRow[]> {
  if (ids.length === 0) return [];
  return tx
    .selectFrom('channels')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('channel_id', 'in', [...ids])
    .where('enabled', '=', true)
    .orderBy('channel_id')
    .execute();
}

/** Steps whose time is before the opening are due at once. */
async function writeSteps(tx: Tx, row: AlertRow, nodes: readonly RouteNode[], nowMs: number): Promise<void> {
  const { expires_at: expiresAt } = row;
  if (expiresAt === null) return;
  const steps = nodes.flatMap((node) => node.escalate.map((step) => ({ node, step })));
  if (steps.length === 0) return;
  await tx
    .insertInto('approval_steps')
    .values(
      steps.map(({ node, step }, n) => ({
        ...{
          tenant_id: row.tenant_id,
          alert_id: row.alert_id,
          step: n,
          route_id: node.id,
          channels: [...step.channels],
        },
        due_at: new Date(Math.max(nowMs, Date.parse(expiresAt) - step.beforeExpiryMs)).toISOString(),
      })),
    )
    .execute();
}
