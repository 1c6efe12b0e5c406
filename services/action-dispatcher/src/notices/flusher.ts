import { HOUR_MS } from '@agentlens/contracts';
import {
  type AlertsTable,
  labelsFromAlert,
  type NoticeGroupsTable,
  readFiringAlerts,
  type Tables,
} from '@agentlens/database';
import {
  endGroup,
  type FiringAlert,
  type FlushStep,
  findSuppression,
  flushGroup,
  type GroupState,
  type RouteNode,
  type StoredRoutes,
  type SuppressionState,
} from '@agentlens/routing';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { ChannelKinds } from '../channels/channel-kinds.ts';
import { type ChannelRow, kindOf } from '../channels/channels.repository.ts';
import { type NewNotice, queueNotices } from '../channels/notice-queue.ts';
import { joinGroups } from './alert-routing.ts';
import { buildEndsForFallbacks, type GroupEnd } from './fallbacks.ts';
import { buildGroupNotices } from './group-notices.ts';
import { readRoutes, readSilences } from './routing-state.ts';

type Tx = Transaction<Tables>;
type GroupRow = Selectable<NoticeGroupsTable>;
type AlertRow = Selectable<AlertsTable>;

const GROUPS_AT_ONCE = 100;
/** For groups that were opened before the routes of their tenant could no longer be read. */
const REPEAT_MS = 4 * HOUR_MS;

interface FlusherDependencies {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  readonly kinds: Pick<ChannelKinds, 'find'>;
  /** Called at every flush of a tenant whose routes cannot be read in full. */
  readonly onUnreadable: (tenantId: string, problems: StoredRoutes['problems']) => void;
}

/** A due group with everything that its next notice depends on. */
interface DueGroup {
  readonly row: GroupRow;
  readonly members: readonly AlertRow[];
  readonly alerts: ReadonlyMap<string, AlertRow>;
  readonly channel: ChannelRow | undefined;
  /** Undefined if the tenant has no routes. */
  readonly routes: StoredRoutes | undefined;
}

/**
 * Sends what groups owe their receivers. Groups, notices and deliveries are written in one transaction, so a process
 * that dies has either sent nothing or queued everything. Any number of dispatchers may flush: a group is locked by one,
 * and the others skip it.
 */
export class NoticeFlusher {
  constructor(private readonly dependencies: FlusherDependencies) {}

  /** Flushes some due groups. @returns how many groups were due and how many notices were queued */
  async flush(): Promise<{ readonly groups: number; readonly notices: number }> {
    const { db, now, kinds, onUnreadable } = this.dependencies;
    return db.transaction().execute(async (tx) => {
      const nowMs = now();
      const rows = await claimGroups(tx, nowMs);
      if (rows.length === 0) return { groups: 0, notices: 0 };
      const due = await readGroups(tx, rows, onUnreadable);
      const states = await readStates(tx, due, nowMs);
      const steps = due.map((group) => ({ group, step: this.#step(group, states.get(group.row.tenant_id), nowMs) }));
      const notices = steps.flatMap(({ group, step }) => this.#notices(group, step));
      const ends = steps.flatMap(({ group, step }) => findEnd(group, step));
      const known = new Map(due.flatMap(({ alerts }) => [...alerts]));
      notices.push(...(await buildEndsForFallbacks(tx, kinds, ends, known)));
      await queueNotices(tx, notices, nowMs);
      await writeSteps(tx, steps);
      await rehome(tx, steps, nowMs);
      return { groups: rows.length, notices: notices.length };
    });
  }

  #step({ row, members, routes, channel }: DueGroup, state: SuppressionState | undefined, nowMs: number): FlushStep {
    const group = stateOf(row);
    const route = findRoute(routes, row);
    if (
      route === undefined ||
      state === undefined ||
      channel === undefined ||
      !route.channels.includes(row.channel_id)
    ) {
      return endGroup(group, nowMs);
    }
    const { groupIntervalMs } = route;
    // What a channel missed while it was off is decided when it is on again.
    if (!channel.enabled) return { group, dueAtMs: nowMs + groupIntervalMs };
    const repeatMs =
      this.dependencies.kinds.find(kindOf(channel)).shows === 'refreshed' ? groupIntervalMs : route.repeatMs;
    const alerts = members.map((alert) => {
      const fires: FiringAlert = { alertId: alert.alert_id, labels: labelsFromAlert(alert) };
      return {
        alertId: alert.alert_id,
        firing: alert.status === 'pending',
        suppressed: findSuppression(fires, route, state),
      };
    });
    return flushGroup(group, alerts, { groupIntervalMs, repeatMs }, nowMs);
  }

  #notices({ row, channel, alerts }: DueGroup, { send }: FlushStep): NewNotice[] {
    if (send === undefined || channel === undefined) return [];
    return buildGroupNotices(this.dependencies.kinds, channel, groupFrom(row), send, alerts);
  }
}

function groupFrom({ tenant_id, group_id, channel_id, route_id, labels, interval_ms }: GroupRow) {
  return {
    ...{ tenantId: tenant_id, groupId: group_id, channelId: channel_id },
    ...{ route: route_id, labels, everyMs: interval_ms },
  };
}

function findEnd({ row }: DueGroup, { send }: FlushStep): GroupEnd[] {
  if (send === undefined || send.ended.length === 0) return [];
  const reason = send.reason === 'rerouted' ? send.reason : 'resolved';
  return [{ ...groupFrom(row), reason, ended: send.ended }];
}

function stateOf({ not_before, last_sent_at, shown }: GroupRow): GroupState {
  const lastSentAtMs = last_sent_at === null ? null : Date.parse(last_sent_at);
  return { notBeforeMs: Date.parse(not_before), lastSentAtMs, shown };
}

type FlushedRoute = Pick<RouteNode, 'channels' | 'mute' | 'groupIntervalMs' | 'repeatMs'>;

/** While the routes cannot be read, a group that is open stays where it is: its route may still exist. */
function findRoute(routes: StoredRoutes | undefined, row: GroupRow): FlushedRoute | undefined {
  const route = routes?.tree.routes.get(row.route_id);
  if (route !== undefined || routes?.isDefault !== true) return route;
  return { channels: [row.channel_id], mute: [], groupIntervalMs: row.interval_ms, repeatMs: REPEAT_MS };
}

function claimGroups(tx: Tx, nowMs: number): Promise<GroupRow[]> {
  return tx
    .selectFrom('notice_groups')
    .selectAll()
    .where('due_at', '<=', new Date(nowMs).toISOString())
    .orderBy('due_at')
    .limit(GROUPS_AT_ONCE)
    .forUpdate()
    .skipLocked()
    .execute();
}

async function readGroups(
  tx: Tx,
  rows: readonly GroupRow[],
  onUnreadable: FlusherDependencies['onUnreadable'],
): Promise<DueGroup[]> {
  const tenants = [...new Set(rows.map(({ tenant_id }) => tenant_id))];
  const { rows: members } = await sql<AlertRow & { readonly group_id: string }>`
    select m.group_id, a.* from unnest(${rows.map((row) => row.tenant_id)}::text[], ${rows.map((row) => row.group_id)}::text[])
      as g (tenant_id, group_id)
      join notice_members m using (tenant_id, group_id) join alerts a using (tenant_id, alert_id)
  `.execute(tx);
  const shown = rows.flatMap((row) => row.shown.map((id) => ({ tenantId: row.tenant_id, id })));
  const { rows: known } = await sql<AlertRow>`
    select a.* from unnest(${shown.map(({ tenantId }) => tenantId)}::text[], ${shown.map(({ id }) => id)}::text[])
      as s (tenant_id, alert_id) join alerts a using (tenant_id, alert_id)
  `.execute(tx);
  const channels = await tx.selectFrom('channels').selectAll().where('tenant_id', 'in', tenants).execute();
  const routes = new Map<string, StoredRoutes>();
  for (const tenantId of tenants) {
    const stored = await readRoutes(tx, tenantId);
    if (stored === undefined) continue;
    routes.set(tenantId, stored);
    if (stored.problems.length > 0) onUnreadable(tenantId, stored.problems);
  }
  const byGroup = Map.groupBy(members, ({ tenant_id, group_id }) => `${tenant_id} ${group_id}`);
  return rows.map((row) => {
    const own = byGroup.get(`${row.tenant_id} ${row.group_id}`) ?? [];
    const alerts = [...own, ...known.filter(({ tenant_id }) => tenant_id === row.tenant_id)];
    return {
      ...{ row, members: own, routes: routes.get(row.tenant_id) },
      alerts: new Map(alerts.map((alert) => [alert.alert_id, alert])),
      channel: channels.find(
        ({ tenant_id, channel_id }) => tenant_id === row.tenant_id && channel_id === row.channel_id,
      ),
    };
  });
}

async function readStates(tx: Tx, due: readonly DueGroup[], nowMs: number): Promise<Map<string, SuppressionState>> {
  const trees = new Map(
    due.flatMap(({ row, routes }) => (routes === undefined ? [] : [[row.tenant_id, routes.tree] as const])),
  );
  const silences = await readSilences(tx, [...trees.keys()], nowMs);
  const states = new Map<string, SuppressionState>();
  for (const [tenantId, tree] of trees) {
    const firing = tree.inhibit.length === 0 ? [] : await readFiringAlerts(tx, tenantId);
    states.set(tenantId, { tree, firing, nowMs, silences: silences.get(tenantId) ?? [] });
  }
  return states;
}

interface SteppedGroup {
  readonly group: DueGroup;
  readonly step: FlushStep;
}

/** Stores the new states in one statement, and removes groups that are empty with what is left of their members. */
async function writeSteps(tx: Tx, steps: readonly SteppedGroup[]): Promise<void> {
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  const kept = steps.filter(({ step }) => step.dueAtMs !== null);
  const given = kept.map(({ group: { row }, step: { group, dueAtMs } }) => ({
    ...{ tenant_id: row.tenant_id, group_id: row.group_id, due_at: iso(dueAtMs) },
    ...{ last_sent_at: iso(group.lastSentAtMs), shown: group.shown },
  }));
  await sql`
    update notice_groups g set due_at = x.due_at, last_sent_at = x.last_sent_at, shown = x.shown
    from jsonb_to_recordset(${JSON.stringify(given)}::jsonb)
      as x (tenant_id text, group_id text, due_at timestamptz, last_sent_at timestamptz, shown text[])
    where g.tenant_id = x.tenant_id and g.group_id = x.group_id
  `.execute(tx);
  const gone = steps.filter(({ step }) => step.dueAtMs === null).map(({ group: { row } }) => row);
  if (gone.length === 0) return;
  const pairs = sql`select * from unnest(${gone.map((row) => row.tenant_id)}::text[], ${gone.map((row) => row.group_id)}::text[])`;
  await sql`delete from notice_members where (tenant_id, group_id) in (${pairs})`.execute(tx);
  await sql`delete from notice_groups where (tenant_id, group_id) in (${pairs})`.execute(tx);
}

/** Alerts that still fire in a group whose route or channel is gone join the groups of the routes in force. */
async function rehome(tx: Tx, steps: readonly SteppedGroup[], nowMs: number): Promise<void> {
  const homeless = steps.flatMap(({ group, step }) =>
    step.dueAtMs === null
      ? group.members.filter(({ status }) => status === 'pending').map((alert) => ({ alert, tree: group.routes?.tree }))
      : [],
  );
  for (const { alert, tree } of homeless) {
    if (tree !== undefined) await joinGroups(tx, tree, [alert], new Date(nowMs).toISOString());
  }
}
