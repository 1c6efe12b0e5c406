import type { DeliveriesTable, DeliveryAttemptsTable } from '@agentlens/database';
import {
  type Attempt,
  DELIVERIES_LIST,
  type DeliveryFilter,
  type DeliveryView,
  type WholeAttempt,
  type WholeDelivery,
} from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { type RawBuilder, type Selectable, sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

/** All columns except the config, which contains secrets. */
const COLUMNS = [
  'delivery_id',
  'trigger_id',
  'triggered_at',
  'rule_id',
  'agent_id',
  'webhook_id',
  'action_type',
  'result',
  'attempts',
  'next_attempt_at',
  'detail',
  'created_at',
  'settled_at',
] as const;

/** Columns for lists. They leave out the exchange, which is long. */
const ATTEMPT_COLUMNS = ['attempt', 'started_at', 'finished_at', 'outcome', 'http_status', 'detail'] as const;

type AttemptRow = Pick<Selectable<DeliveryAttemptsTable>, (typeof ATTEMPT_COLUMNS)[number]>;
type Row = Pick<Selectable<DeliveriesTable>, (typeof COLUMNS)[number]> & Notified;

/** Of the message and its endpoint; null for actions that are no webhooks of the tenant. */
interface Notified {
  readonly event: string | null;
  readonly subject_status: string | null;
  readonly webhook_name: string | null;
  readonly webhook_url: string | null;
}

/** Type of the message of a delivery; null for actions that are no webhooks of the tenant. @param deliveries table or alias */
export function messageType(deliveries: string): RawBuilder<string | null> {
  const of = (column: string) => sql.ref(`${deliveries}.${column}`);
  return sql`case when ${of('webhook_id')} is not null then ${of('action_config')} #>> '{message,type}' end`;
}

/** What that message said of its subject, such as `killed`. */
export function messageStatus(deliveries: string): RawBuilder<string | null> {
  const config = sql.ref(`${deliveries}.action_config`);
  return sql`case when ${sql.ref(`${deliveries}.webhook_id`)} is not null then coalesce(${config} #>> '{message,data,status}',
    ${config} #>> '{message,data,state,kind}', ${config} #>> '{message,data,state}') end`;
}

/** The type and status of a message contain no secret; its data may. */
const NOTIFIED = [
  messageType('deliveries').as('event'),
  messageStatus('deliveries').as('subject_status'),
  sql<string | null>`(select name from webhook_endpoints w
    where w.tenant_id = deliveries.tenant_id and w.webhook_id = deliveries.webhook_id)`.as('webhook_name'),
  sql<string | null>`(select url from webhook_endpoints w
    where w.tenant_id = deliveries.tenant_id and w.webhook_id = deliveries.webhook_id)`.as('webhook_url'),
] as const;

@Injectable()
export class DeliveriesQueries {
  constructor(private readonly reads: TenantReads) {}

  /** @param list name that the page cursors carry */
  async list(tenantId: string, filter: DeliveryFilter, list = DELIVERIES_LIST): Promise<Page<DeliveryView>> {
    return this.reads.read(tenantId, async (db) => {
      const rows = await pageRows(db, tenantId, filter);
      const ids = rows.slice(0, filter.limit).map((row) => row.delivery_id);
      const attempts = Map.groupBy(await attemptRows(db, tenantId, ids), (row) => row.delivery_id);
      return pageOf(
        list,
        rows,
        filter.limit,
        (row) => ({ at: row.created_at, id: row.delivery_id }),
        (row) => ({ ...deliveryFromRow(row), attempts: (attempts.get(row.delivery_id) ?? []).map(attemptFromRow) }),
      );
    });
  }

  /** Returns null if the delivery does not exist. */
  async get(tenantId: string, deliveryId: string): Promise<WholeDelivery | null> {
    return this.reads.read(tenantId, async (db) => {
      const row = await db
        .selectFrom('deliveries')
        .select([...COLUMNS, ...NOTIFIED])
        .where('tenant_id', '=', tenantId)
        .where('delivery_id', '=', deliveryId)
        .executeTakeFirst();
      if (row === undefined) return null;
      const attempts = await db
        .selectFrom('delivery_attempts')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('delivery_id', '=', deliveryId)
        .orderBy('attempt')
        .execute();
      return { ...deliveryFromRow(row), attempts: attempts.map(wholeAttemptFromRow) };
    });
  }

  async exists(tenantId: string, deliveryId: string): Promise<boolean> {
    const row = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('deliveries')
        .select('delivery_id')
        .where('tenant_id', '=', tenantId)
        .where('delivery_id', '=', deliveryId)
        .executeTakeFirst(),
    );
    return row !== undefined;
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: DeliveryFilter): Promise<Row[]> {
  let query = db
    .selectFrom('deliveries')
    .select([...COLUMNS, ...NOTIFIED])
    .where('tenant_id', '=', tenantId);
  if (filter.triggerId !== undefined) query = query.where('trigger_id', '=', filter.triggerId);
  if (filter.ruleId !== undefined) query = query.where('rule_id', '=', filter.ruleId);
  if (filter.webhookId !== undefined) query = query.where('webhook_id', '=', filter.webhookId);
  if (filter.result !== undefined) query = query.where('result', 'in', filter.result);
  if (filter.cursor !== undefined) {
    const place = sql`(${filter.cursor.at}::timestamptz, ${filter.cursor.id})`;
    query = query.where(sql<boolean>`(created_at, delivery_id) < ${place}`);
  }
  return query
    .orderBy('created_at', 'desc')
    .orderBy('delivery_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

async function attemptRows(db: ReadOnly, tenantId: string, deliveryIds: readonly string[]) {
  if (deliveryIds.length === 0) return [];
  return db
    .selectFrom('delivery_attempts')
    .select(['delivery_id', ...ATTEMPT_COLUMNS])
    .where('tenant_id', '=', tenantId)
    .where('delivery_id', 'in', deliveryIds)
    .orderBy('attempt')
    .execute();
}

function deliveryFromRow(row: Row): Omit<DeliveryView, 'attempts'> {
  return {
    id: row.delivery_id,
    triggerId: row.trigger_id,
    ruleId: row.rule_id,
    agentId: row.agent_id,
    ...(row.webhook_id === null ? {} : { webhookId: row.webhook_id, webhook: webhookIn(row) }),
    actionType: row.action_type,
    result: row.result,
    ...(row.detail === null ? {} : { detail: row.detail }),
    triggeredAt: row.triggered_at,
    createdAt: row.created_at,
    ...(row.settled_at === null ? {} : { settledAt: row.settled_at }),
    ...(row.next_attempt_at === null ? {} : { nextAttemptAt: row.next_attempt_at }),
    attemptCount: row.attempts,
  };
}

function webhookIn({ event, subject_status: status, webhook_name: name, webhook_url: url }: Notified) {
  const host = url === null ? undefined : URL.parse(url)?.host;
  return {
    ...(name === null ? {} : { name }),
    ...(host === undefined ? {} : { host }),
    ...(event === null ? {} : { event }),
    ...(status === null ? {} : { status }),
  };
}

function wholeAttemptFromRow(row: Selectable<DeliveryAttemptsTable>): WholeAttempt {
  return { ...attemptFromRow(row), ...row.exchange };
}

function attemptFromRow(row: AttemptRow): Attempt {
  return {
    attempt: row.attempt,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    outcome: row.outcome,
    ...(row.http_status === null ? {} : { httpStatus: row.http_status }),
    ...(row.detail === null ? {} : { detail: row.detail }),
  };
}
