import type { AlertsTable, Tables } from '@agentlens/database';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { ChannelKinds } from '../channels/channel-kinds.ts';
import { ChannelNoticeConfig, type NewNotice, queueNotices } from '../channels/notice-queue.ts';
import { approvalNotices, findChannels } from './alert-routing.ts';
import { buildGroupNotices, type NamedAlert } from './group-notices.ts';

type Tx = Transaction<Tables>;
type AlertRow = Selectable<AlertsTable>;

/** A receiver that has not accepted a notice for this long needs help from the fallback of its channel. */
const UNACCEPTED_MS = 60_000;
/** A notice that is older than this is settled, or its fallback would come too late. */
const FALLBACK_WITHIN_MS = 3_600_000;
const ROWS_AT_ONCE = 50;

interface FallbackDependencies {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  readonly kinds: Pick<ChannelKinds, 'find'>;
  readonly onError: (error: unknown) => void;
}

interface Unaccepted {
  readonly tenant_id: string;
  readonly group_id: string | null;
  readonly fallback: string;
  readonly action_config: unknown;
}

/** A notice that its channel has given up, or has not accepted for a minute. */
interface Fallen extends Pick<Unaccepted, 'tenant_id' | 'group_id' | 'fallback'> {
  readonly config: ChannelNoticeConfig;
}

/**
 * Gives notices to the fallbacks of their channels. The approval or the group is locked before the notice is queued, so
 * what ends it either sees the fallback and sends it the end, or comes first, and the fallback shows nothing.
 */
export class Fallbacks {
  constructor(private readonly dependencies: FallbackDependencies) {}

  /** @returns how many notices were queued */
  async give(): Promise<number> {
    const { db, now } = this.dependencies;
    return db.transaction().execute(async (tx) => {
      const nowMs = now();
      const fallen = (await lockUnaccepted(tx, nowMs)).flatMap((row) => this.#read(row));
      if (fallen.length === 0) return 0;
      // Alerts before groups, as a change of an alert locks them.
      const approvals = await lockApprovals(tx, fallen);
      const shown = await lockGroups(tx, fallen);
      let queued = 0;
      for (const one of fallen) {
        const notices =
          one.group_id === null
            ? await this.#ofApproval(tx, one, approvals)
            : await this.#ofGroup(tx, one, one.group_id, shown.get(keyOf(one.tenant_id, one.group_id)) ?? []);
        queued += (await queueNotices(tx, notices, nowMs)).length;
      }
      return queued;
    });
  }

  #read({ action_config, ...row }: Unaccepted): Fallen[] {
    const config = ChannelNoticeConfig.safeParse(action_config);
    if (config.success) return [{ ...row, config: config.data }];
    // It is marked, so it holds up no other notice.
    this.dependencies.onError(config.error);
    return [];
  }

  async #ofApproval(
    tx: Tx,
    { tenant_id: tenantId, fallback, config }: Fallen,
    approvals: ReadonlyMap<string, AlertRow>,
  ): Promise<NewNotice[]> {
    const row = approvals.get(keyOf(tenantId, config.firing[0] ?? config.resolved[0] ?? ''));
    if (row === undefined) return [];
    const isOpen = row.status === 'pending' || row.status === 'acknowledged';
    // The outcome is a notice of its own.
    if (!isOpen && config.resolved.length === 0) return [];
    // A channel that knows of the approval gets its changes.
    if (config.reason !== 'escalation' && (await knowsApproval(tx, tenantId, fallback, row.alert_id))) return [];
    return approvalNotices(tx, row, new Map([[fallback, config.route]]), 'fallback');
  }

  async #ofGroup(
    tx: Tx,
    { tenant_id: tenantId, fallback, config }: Fallen,
    groupId: string,
    shown: readonly string[],
  ): Promise<NewNotice[]> {
    const [channel] = await findChannels(tx, tenantId, [fallback]);
    if (channel === undefined) return [];
    const ended = await findTold(tx, tenantId, fallback, groupId, 'resolved', config.resolved);
    const news = {
      reason: 'fallback' as const,
      firing: config.firing.filter((id) => shown.includes(id)),
      ended: config.resolved.filter((id) => !ended.has(id)),
    };
    if (news.firing.length + news.ended.length === 0) return [];
    const alerts = await readNamed(tx, tenantId, [...news.firing, ...news.ended]);
    const { route, group: labels, everyMs } = config;
    const group = { tenantId, groupId, route, labels, everyMs };
    return buildGroupNotices(this.dependencies.kinds, channel, group, { ...news, added: news.firing }, alerts);
  }
}

/** The end of alerts of a group. */
export interface GroupEnd {
  readonly tenantId: string;
  readonly groupId: string;
  /** The channel of the group, which sends the end itself. */
  readonly channelId: string;
  readonly route: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly everyMs: number;
  readonly reason: 'resolved' | 'rerouted';
  readonly ended: readonly string[];
}

/** Builds notices for the fallbacks that show alerts which have ended, in the transaction that has locked the groups. */
export async function buildEndsForFallbacks(
  tx: Tx,
  kinds: Pick<ChannelKinds, 'find'>,
  ends: readonly GroupEnd[],
  alerts: ReadonlyMap<string, NamedAlert>,
): Promise<NewNotice[]> {
  if (ends.length === 0) return [];
  const asked = ends.flatMap((end) => end.ended.map((alertId) => ({ ...end, alertId })));
  const { rows } = await sql<{
    readonly tenant_id: string;
    readonly group_id: string;
    readonly channel_id: string;
    readonly alert_id: string;
  }>`
    select tenant_id, group_id, channel_id, alert_id from (
      select distinct on (n.tenant_id, n.group_id, n.channel_id, a.alert_id)
        n.tenant_id, n.group_id, n.channel_id, a.alert_id, a.state
      from unnest(${asked.map(({ tenantId }) => tenantId)}::text[], ${asked.map(({ groupId }) => groupId)}::text[],
          ${asked.map(({ channelId }) => channelId)}::text[], ${asked.map(({ alertId }) => alertId)}::text[])
          as e (tenant_id, group_id, channel_id, alert_id)
        join notice_alerts a on a.tenant_id = e.tenant_id and a.alert_id = e.alert_id
        join notices n on n.tenant_id = a.tenant_id and n.notice_id = a.notice_id
      where n.group_id = e.group_id and n.channel_id <> e.channel_id
      order by n.tenant_id, n.group_id, n.channel_id, a.alert_id, n.at desc, n.notice_id desc
    ) as newest where state = 'firing'
  `.execute(tx);
  const notices: NewNotice[] = [];
  for (const end of ends) {
    const told = rows.filter((row) => row.tenant_id === end.tenantId && row.group_id === end.groupId);
    const byChannel = Map.groupBy(told, ({ channel_id }) => channel_id);
    for (const channel of await findChannels(tx, end.tenantId, [...byChannel.keys()])) {
      const ended = (byChannel.get(channel.channel_id) ?? []).map(({ alert_id }) => alert_id);
      notices.push(
        ...buildGroupNotices(kinds, channel, end, { reason: end.reason, firing: [], added: [], ended }, alerts),
      );
    }
  }
  return notices;
}

function keyOf(tenantId: string, id: string): string {
  return `${tenantId} ${id}`;
}

/** Marks the notices, so that each falls back once. */
async function lockUnaccepted(tx: Tx, nowMs: number): Promise<Unaccepted[]> {
  const late = new Date(nowMs - UNACCEPTED_MS).toISOString();
  const { rows } = await sql<Unaccepted>`
    update notices n set fell_back = true
    from deliveries d, channels c
    where d.tenant_id = n.tenant_id and d.delivery_id = n.delivery_id
      and c.tenant_id = n.tenant_id and c.channel_id = n.channel_id
      and (n.tenant_id, n.notice_id) in (
        select o.tenant_id, o.notice_id from notices o
          join deliveries e using (tenant_id, delivery_id) join channels f on f.tenant_id = o.tenant_id and f.channel_id = o.channel_id
        where not o.fell_back and o.at >= ${new Date(nowMs - FALLBACK_WITHIN_MS).toISOString()}
          and f.fallback is not null and e.result <> 'success'
          and ((e.settled_at is not null and e.result <> 'superseded') or o.at <= ${late})
          -- What a superseded notice says is part of a later one.
          and not (e.result = 'superseded' and exists (
            select from deliveries s where s.tenant_id = e.tenant_id and s.order_key = e.order_key and s.order_n > e.order_n
              and s.result = 'success'))
        order by o.at limit ${ROWS_AT_ONCE} for update of o skip locked)
    returning n.tenant_id, n.group_id, c.fallback, d.action_config
  `.execute(tx);
  return rows;
}

async function lockApprovals(tx: Tx, fallen: readonly Fallen[]): Promise<ReadonlyMap<string, AlertRow>> {
  const asked = fallen.filter(({ group_id }) => group_id === null);
  if (asked.length === 0) return new Map();
  const ids = asked.map(({ config }) => config.firing[0] ?? config.resolved[0] ?? '');
  const { rows } = await sql<AlertRow>`
    select * from alerts where (tenant_id, alert_id) in (
      select * from unnest(${asked.map(({ tenant_id }) => tenant_id)}::text[], ${ids}::text[]))
    order by tenant_id, alert_id for update
  `.execute(tx);
  return new Map(rows.map((row) => [keyOf(row.tenant_id, row.alert_id), row]));
}

/** @returns what each group shows; nothing for a group that has ended */
async function lockGroups(tx: Tx, fallen: readonly Fallen[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const asked = fallen.filter(({ group_id }) => group_id !== null);
  if (asked.length === 0) return new Map();
  const { rows } = await sql<{
    readonly tenant_id: string;
    readonly group_id: string;
    readonly shown: readonly string[];
  }>`
    select tenant_id, group_id, shown from notice_groups where (tenant_id, group_id) in (
      select * from unnest(${asked.map(({ tenant_id }) => tenant_id)}::text[], ${asked.map(({ group_id }) => group_id)}::text[]))
    order by tenant_id, group_id for update
  `.execute(tx);
  return new Map(rows.map((row) => [keyOf(row.tenant_id, row.group_id), row.shown]));
}

async function knowsApproval(tx: Tx, tenantId: string, channelId: string, alertId: string): Promise<boolean> {
  const found = await tx
    .selectFrom('notice_alerts as a')
    .innerJoin('notices as n', (join) =>
      join.onRef('n.tenant_id', '=', 'a.tenant_id').onRef('n.notice_id', '=', 'a.notice_id'),
    )
    .select('n.notice_id')
    .where('a.tenant_id', '=', tenantId)
    .where('a.alert_id', '=', alertId)
    .where('n.channel_id', '=', channelId)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Those of the alerts that a channel received in this state for the group. */
async function findTold(
  tx: Tx,
  tenantId: string,
  channelId: string,
  groupId: string,
  state: 'firing' | 'resolved',
  alertIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (alertIds.length === 0) return new Set();
  const rows = await tx
    .selectFrom('notice_alerts as a')
    .innerJoin('notices as n', (join) =>
      join.onRef('n.tenant_id', '=', 'a.tenant_id').onRef('n.notice_id', '=', 'a.notice_id'),
    )
    .select('a.alert_id')
    .where('a.tenant_id', '=', tenantId)
    .where('a.alert_id', 'in', [...alertIds])
    .where('a.state', '=', state)
    .where('n.channel_id', '=', channelId)
    .where('n.group_id', '=', groupId)
    .execute();
  return new Set(rows.map(({ alert_id }) => alert_id));
}

async function readNamed(tx: Tx, tenantId: string, ids: readonly string[]): Promise<ReadonlyMap<string, NamedAlert>> {
  const rows = await tx
    .selectFrom('alerts')
    .select(['alert_id', 'rule_id', 'agent_id'])
    .where('tenant_id', '=', tenantId)
    .where('alert_id', 'in', [...ids])
    .execute();
  return new Map(rows.map((row) => [row.alert_id, row]));
}
