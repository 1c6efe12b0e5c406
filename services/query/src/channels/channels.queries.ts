import {
  type AlertLabels,
  type AlertNotice,
  type AlertNotices,
  CHANNEL_KINDS,
  type ChannelView,
  NOTICE_REASONS,
  NOTICE_STATUSES,
  type RoutingAnswer,
  RoutingDocument,
  type RoutingProblem,
  type Silence,
} from '@agentlens/contracts';
import { labelsFromAlert, readFiringAlerts, readOpenSilences } from '@agentlens/database';
import { type Clock, port } from '@agentlens/platform';
import {
  explainRouting,
  type FiringAlert,
  readRouting,
  readStoredMatchers,
  readStoredRouting,
} from '@agentlens/routing';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

/** Notices of one alert that are shown. */
const MAX_NOTICES = 200;
const MAX_ENDED_SILENCES = 100;

type Status = (typeof NOTICE_STATUSES)[number];

interface Explained {
  readonly kind: 'explained';
  readonly channels: RoutingAnswer[];
}

interface NotExplained {
  readonly kind: 'refused';
  readonly problems: readonly RoutingProblem[];
}

/** Reads channels, routes, silences and notices, and explains them with the functions that the dispatcher uses. */
@Injectable()
export class ChannelsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  list(tenantId: string): Promise<ChannelView[]> {
    return this.reads.read(tenantId, (db) => readChannels(db, tenantId));
  }

  async get(tenantId: string, channelId: string): Promise<ChannelView | undefined> {
    return (await this.list(tenantId)).find(({ id }) => id === channelId);
  }

  async deliveries(tenantId: string, ids: readonly string[]) {
    if (ids.length === 0) return [];
    const rows = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('deliveries')
        .select(['delivery_id', 'result', 'detail', 'receipt'])
        .where('tenant_id', '=', tenantId)
        .where('delivery_id', 'in', [...ids])
        .execute(),
    );
    return rows.map(({ delivery_id: id, result, detail, receipt }) => ({
      ...{ id, status: statusOf(result) },
      ...(receipt === null ? {} : { receipt }),
      ...(detail === null ? {} : { detail }),
    }));
  }

  async routes(tenantId: string) {
    const row = await this.reads.read(tenantId, (db) => readNewest(db, tenantId));
    if (row === undefined) return { version: 0, savedBy: null, savedAt: null, document: null, problems: [] };
    const { version, saved_by: savedBy, saved_at: savedAt, body } = row;
    const { problems } = readStoredRouting(body, []);
    return {
      ...{ version, savedBy, savedAt, problems: [...problems] },
      document: RoutingDocument.safeParse(body).data ?? null,
    };
  }

  async silences(tenantId: string): Promise<Silence[]> {
    const nowMs = this.clock.now();
    const at = new Date(nowMs).toISOString();
    const rows = await this.reads.read(tenantId, async (db) => {
      const of = db.selectFrom('silences').selectAll().where('tenant_id', '=', tenantId).orderBy('created_at', 'desc');
      const open = await of.where('ends_at', '>', at).execute();
      return [...open, ...(await of.where('ends_at', '<=', at).limit(MAX_ENDED_SILENCES).execute())];
    });
    return rows.map((row) => {
      const { matchers, messages } = readStoredMatchers(row.matchers);
      const state = row.ends_at <= at ? 'ended' : row.starts_at <= at ? 'active' : 'pending';
      return {
        ...{ id: row.silence_id, matchers: matchers.map(({ text }) => text), startsAt: row.starts_at },
        ...{ endsAt: row.ends_at, comment: row.comment, by: row.created_by, state },
        ...(messages.length === 0 ? {} : { problem: `It silences nothing: ${messages.join('; ')}` }),
      };
    });
  }

  explain(
    tenantId: string,
    asked: {
      readonly labels: AlertLabels;
      readonly at?: string | undefined;
      readonly document?: RoutingDocument | undefined;
    },
  ): Promise<Explained | NotExplained> {
    const nowMs = asked.at === undefined ? this.clock.now() : Date.parse(asked.at);
    const alert = { alertId: '', labels: asked.labels };
    return this.reads.read(tenantId, (db) => explain(db, tenantId, alert, nowMs, asked.document));
  }

  notices(tenantId: string, alertId: string): Promise<AlertNotices | undefined> {
    return this.reads.read(tenantId, async (db) => {
      const alert = await db
        .selectFrom('alerts')
        .select(['alert_id', 'labels', 'kind', 'severity', 'agent_id', 'rule_id', 'approval'])
        .where('tenant_id', '=', tenantId)
        .where('alert_id', '=', alertId)
        .executeTakeFirst();
      if (alert === undefined) return undefined;
      const notices = await readNotices(db, tenantId, alertId);
      const explained = await explain(db, tenantId, { alertId, labels: labelsFromAlert(alert) }, this.clock.now());
      const accepted = notices.some(({ delivery }) => delivery?.status === 'success');
      return { alertId, accepted, notices, channels: explained.kind === 'explained' ? explained.channels : [] };
    });
  }
}

function statusOf(result: string): Status {
  return NOTICE_STATUSES.find((status) => status === result) ?? 'pending';
}

function readNewest(db: ReadOnly, tenantId: string) {
  return db
    .selectFrom('routing_documents')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
}

interface ChannelState {
  readonly channel_id: string;
  readonly kind: string;
  readonly name: string | null;
  readonly target: string;
  readonly fallback: string | null;
  readonly enabled: boolean;
  readonly version: number;
  readonly accepted_at: string | null;
  readonly failed_at: string | null;
  readonly error: string | null;
}

/** Channels with their last accepted and last failed attempt. */
async function readChannels(db: ReadOnly, tenantId: string): Promise<ChannelView[]> {
  const { rows } = await sql<ChannelState>`
    select c.channel_id, c.kind, c.name, c.target, c.fallback, c.enabled, c.version,
      good.at as accepted_at, bad.at as failed_at, bad.detail as error
    from channels c
      left join lateral (select max(d.settled_at) as at from deliveries d
        where d.tenant_id = c.tenant_id and d.channel_id = c.channel_id and d.result = 'success') good on true
      left join lateral (select a.finished_at as at, a.detail
        from (select delivery_id from deliveries d
            where d.tenant_id = c.tenant_id and d.channel_id = c.channel_id order by d.created_at desc limit 50) recent
          join delivery_attempts a on a.tenant_id = c.tenant_id and a.delivery_id = recent.delivery_id
        where a.outcome <> 'delivered' order by a.finished_at desc limit 1) bad on true
    where c.tenant_id = ${tenantId} order by c.channel_id
  `.execute(db);
  return rows.map((row) => ({
    ...{ id: row.channel_id, kind: CHANNEL_KINDS.find((kind) => kind === row.kind) ?? 'webhook', target: row.target },
    ...{ enabled: row.enabled, version: row.version, health: healthFrom(row) },
    ...(row.name === null ? {} : { name: row.name }),
    ...(row.fallback === null ? {} : { fallback: row.fallback }),
  }));
}

function healthFrom({ accepted_at: acceptedAt, failed_at: failedAt, error }: ChannelState): ChannelView['health'] {
  const isFailing = failedAt !== null && (acceptedAt === null || acceptedAt < failedAt);
  return {
    state: isFailing ? 'failing' : acceptedAt === null ? 'unused' : 'ok',
    ...(acceptedAt === null ? {} : { acceptedAt }),
    ...(failedAt === null ? {} : { failedAt }),
    ...(error === null ? {} : { error }),
  };
}

async function explain(
  db: ReadOnly,
  tenantId: string,
  alert: FiringAlert,
  nowMs: number,
  draft?: RoutingDocument,
): Promise<Explained | NotExplained> {
  const known = await readChannels(db, tenantId);
  const channels = known.map(({ id }) => id);
  const stored = draft === undefined ? await readNewest(db, tenantId) : undefined;
  if (draft === undefined && stored === undefined) {
    const because = 'No routes were saved, so alerts go to no channel';
    return { kind: 'explained', channels: channels.map((channel) => ({ channel, notified: false, because })) };
  }
  const enabled = known.filter((channel) => channel.enabled).map(({ id }) => id);
  const { tree, problems } =
    draft === undefined ? readStoredRouting(stored?.body, enabled) : readRouting(draft, new Set(channels));
  // Stored routes that cannot be read in full are in force all the same.
  if (draft !== undefined && problems.length > 0) return { kind: 'refused', problems };
  const silences = await readOpenSilences(db, [tenantId], nowMs);
  const firing = tree.inhibit.length === 0 ? [] : await readFiringAlerts(db, tenantId);
  const state = {
    ...{ tree, firing, nowMs },
    silences: silences.map((silence) => ({ ...silence, matchers: readStoredMatchers(silence.matchers).matchers })),
  };
  return { kind: 'explained', channels: explainRouting(alert, channels, state) };
}

async function readNotices(db: ReadOnly, tenantId: string, alertId: string): Promise<AlertNotice[]> {
  const rows = await db
    .selectFrom('notice_alerts as a')
    .innerJoin('notices as n', (join) =>
      join.onRef('n.tenant_id', '=', 'a.tenant_id').onRef('n.notice_id', '=', 'a.notice_id'),
    )
    .leftJoin('deliveries as d', (join) =>
      join.onRef('d.tenant_id', '=', 'n.tenant_id').onRef('d.delivery_id', '=', 'n.delivery_id'),
    )
    .select([
      ...(['n.notice_id', 'n.reason', 'n.channel_id', 'n.route_id', 'n.at', 'a.state'] as const),
      ...(['d.delivery_id', 'd.result', 'd.settled_at', 'd.receipt', 'd.detail', 'd.next_attempt_at'] as const),
    ])
    .select((eb) =>
      eb
        .selectFrom('notice_alerts as o')
        .select(({ fn }) => fn.countAll<number>().as('alerts'))
        .where('o.tenant_id', '=', tenantId)
        .whereRef('o.notice_id', '=', 'n.notice_id')
        .as('alerts'),
    )
    .where('a.tenant_id', '=', tenantId)
    .where('a.alert_id', '=', alertId)
    .orderBy('n.at')
    .orderBy('n.notice_id')
    .limit(MAX_NOTICES)
    .execute();
  return rows.map((row) => ({
    ...{ id: row.notice_id, channel: row.channel_id, route: row.route_id, at: row.at, state: row.state },
    ...{ reason: NOTICE_REASONS.find((one) => one === row.reason) ?? 'changed', alerts: Number(row.alerts ?? 1) },
    delivery:
      row.delivery_id === null || row.result === null
        ? null
        : deliveryFrom({ ...row, delivery_id: row.delivery_id, result: row.result }),
  }));
}

interface DeliveryState {
  readonly delivery_id: string;
  readonly result: string;
  readonly settled_at: string | null;
  readonly receipt: string | null;
  readonly detail: string | null;
  readonly next_attempt_at: string | null;
}

function deliveryFrom({
  delivery_id: id,
  result,
  settled_at,
  receipt,
  detail,
  next_attempt_at,
}: DeliveryState): AlertNotice['delivery'] {
  const status = statusOf(result);
  const isAccepted = status === 'success';
  return {
    ...{ id, status },
    ...(isAccepted && settled_at !== null ? { acceptedAt: settled_at } : {}),
    ...(receipt === null ? {} : { receipt }),
    ...(isAccepted || detail === null ? {} : { error: detail }),
    ...(next_attempt_at === null ? {} : { nextAttemptAt: next_attempt_at }),
  };
}
