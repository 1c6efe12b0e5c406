import {
  type AlertsTable,
  alertFromRow,
  type CircuitBreakersTable,
  type ControlOrdersTable,
  type DecisionsTable,
  type EventsTable,
  type GuardrailTriggersTable,
  orderFromRow,
} from '@agentlens/database';
import {
  type LightRunTimelineQuery,
  type LightTimelineEntry,
  type Position,
  RUN_TIMELINE,
  type RunTimelineQuery,
  type TimelineEntry,
} from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { breakerFromRow } from '../breakers/breakers.queries.ts';
import { eventFromRow } from '../events/stored-event.ts';
import { triggerFromRow } from '../guardrails/triggers.queries.ts';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { ASKED_TIMES, decisionFromRow } from './decision-view.ts';
import { lightEntriesOf, type TimelineKey, type TimelineRun } from './light-entries.queries.ts';
import { ofRun, type RunSpan, spanOfRun } from './run-span.ts';

@Injectable()
export class RunTimelineQueries {
  constructor(private readonly reads: TenantReads) {}

  /** Returns undefined for an unknown run. */
  page(tenantId: string, runId: string, query: RunTimelineQuery): Promise<Page<TimelineEntry> | undefined> {
    return this.#page(tenantId, runId, query, entriesOf);
  }

  /** The same page without the contents of the entries. */
  lightPage(
    tenantId: string,
    runId: string,
    query: LightRunTimelineQuery,
  ): Promise<Page<LightTimelineEntry> | undefined> {
    return this.#page(tenantId, runId, query, lightEntriesOf);
  }

  async #page<Entry>(
    tenantId: string,
    runId: string,
    query: RunTimelineQuery,
    read: (
      db: ReadOnly,
      run: TimelineRun,
      keys: readonly TimelineKey[],
    ) => Promise<(key: TimelineKey) => Entry | undefined>,
  ): Promise<Page<Entry> | undefined> {
    return this.reads.read(tenantId, async (db) => {
      const span = await spanOfRun(db, tenantId, runId);
      if (span === undefined) return undefined;
      const keys = await keysOf(db, { tenantId, runId }, span, query);
      const shown = await read(db, { tenantId, runId }, keys.slice(0, query.limit));
      const page = pageOf(RUN_TIMELINE, keys, query.limit, ({ at, place }) => ({ at, id: place }), shown);
      // Entries that retention removed between the two reads are left out.
      return { ...page, items: page.items.filter((entry) => entry !== undefined) };
    });
  }
}

/** Reads the keys of one page. Each source returns at most one page, in its own order. */
async function keysOf(
  db: ReadOnly,
  { tenantId, runId }: TimelineRun,
  span: RunSpan | 'empty',
  query: RunTimelineQuery,
): Promise<TimelineKey[]> {
  const most = sql.lit(query.offset + query.limit + 1);
  const mine = sql`tenant_id = ${tenantId} and run_id = ${runId}`;
  const scoped = sql`tenant_id = ${tenantId} and scope = 'run' and scope_id = ${runId}`;
  const source = (type: TimelineEntry['type'], from: string, at: string, id: string, where: typeof mine) => sql`
    (select * from (
      select ${sql.ref(at)} as at, ${sql.lit(type)} as type, ${sql.ref(id)} as id, null as moment,
        ${sql.lit(`${type}:`)} || ${sql.ref(id)} collate "C" as place
      from ${sql.table(from)} where ${where} ${startingAt(at, query.cursor)}
    ) as ${sql.ref(type)} where ${afterCursor(query.cursor)} order by at, place limit ${most})`;
  const { rows } = await sql<TimelineKey>`
    select * from (
      ${source('event', 'events', 'occurred_at', 'event_id', ofRun(tenantId, runId, span))}
      union all ${source('decision', 'decisions', 'decided_at', 'decision_id', sql`${mine} and not asked_again`)}
      union all ${source('trigger', 'guardrail_triggers', 'triggered_at', 'trigger_id', mine)}
      union all ${source('order', 'control_orders', 'issued_at', 'order_id', scoped)}
      union all ${source('breaker', 'circuit_breakers', 'changed_at', 'scope_id', scoped)}
      union all (select * from (
        select moments.at, 'alert' as type, alert_id as id, moments.moment,
          ('alert:' || alert_id || ':' || moments.nth) collate "C" as place
        from alerts cross join lateral (values
          (1, 'opened', created_at), (2, 'acknowledged', acknowledged_at), (3, 'decided', decided_at), (4, 'used', used_at)
        ) as moments(nth, moment, at)
        where ${mine} and moments.at is not null
      ) as alert where ${afterCursor(query.cursor)} order by at, place limit ${most})
    ) as keys
    order by at, place limit ${query.limit + 1} offset ${query.offset}`.execute(db);
  return rows;
}

/** Lets the source's index scan start at the cursor. */
function startingAt(column: string, cursor: Position | undefined) {
  return cursor === undefined ? sql`` : sql`and ${sql.ref(column)} >= ${cursor.at}::timestamptz`;
}

function afterCursor(cursor: Position | undefined) {
  return cursor === undefined ? sql`true` : sql`(at, place) > (${cursor.at}::timestamptz, ${cursor.id} collate "C")`;
}

/** Reads timeline entries. The returned function looks up an entry by its key. */
async function entriesOf(db: ReadOnly, run: TimelineRun, keys: readonly TimelineKey[]) {
  const idsOf = (type: TimelineKey['type']) => keys.filter((key) => key.type === type).map(({ id }) => id);
  const [first, last] = [keys.at(0)?.at ?? '', keys.at(-1)?.at ?? ''];
  const events = await eventsBetween(db, run, idsOf('event'), first, last);
  const decisions = await rowsOf(db, run, 'decisions', 'decision_id', idsOf('decision'));
  const triggers = await rowsOf(db, run, 'guardrail_triggers', 'trigger_id', idsOf('trigger'));
  const alerts = await rowsOf(db, run, 'alerts', 'alert_id', idsOf('alert'));
  const orders = await latestOf(db, run, 'control_orders', idsOf('order'));
  const breakers = await latestOf(db, run, 'circuit_breakers', idsOf('breaker'));
  return ({ type, id, at, moment }: TimelineKey): TimelineEntry | undefined => {
    switch (type) {
      case 'event':
        return found(events.get(`${at} ${id}`), (row) => ({ type, at, event: eventFromRow(row) }));
      case 'decision':
        return found(decisions.get(id), (row) => ({ type, at, decision: decisionFromRow(row) }));
      case 'trigger':
        return found(triggers.get(id), (row) => ({ type, at, trigger: triggerFromRow(row) }));
      case 'alert':
        return found(alerts.get(id), (row) => ({ type, at, moment: moment ?? 'opened', alert: alertFromRow(row) }));
      case 'order':
        return found(orders[0], (row) => ({ type, at, order: orderFromRow(row) }));
      case 'breaker':
        return found(breakers[0], (row) => ({ type, at, breaker: breakerFromRow(row) }));
    }
  };
}

function found<R>(row: R | undefined, entry: (row: R) => TimelineEntry): TimelineEntry | undefined {
  return row === undefined ? undefined : entry(row);
}

/** Selects by time and id, because event ids are not unique on their own. */
async function eventsBetween(db: ReadOnly, run: TimelineRun, ids: readonly string[], first: string, last: string) {
  if (ids.length === 0) return new Map<string, Selectable<EventsTable>>();
  const rows = await db
    .selectFrom('events')
    .selectAll()
    .where('tenant_id', '=', run.tenantId)
    .where('run_id', '=', run.runId)
    .where('occurred_at', '>=', first)
    .where('occurred_at', '<=', last)
    .where('event_id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [`${row.occurred_at} ${row.event_id}`, row]));
}

interface RowsOfRun {
  decisions: Selectable<DecisionsTable>;
  guardrail_triggers: Selectable<GuardrailTriggersTable>;
  alerts: Selectable<AlertsTable>;
}

async function rowsOf<T extends keyof RowsOfRun>(
  db: ReadOnly,
  run: TimelineRun,
  table: T,
  idColumn: keyof RowsOfRun[T] & string,
  ids: readonly string[],
): Promise<Map<string, RowsOfRun[T]>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<RowsOfRun[T]>`
    select *${table === 'decisions' ? sql`, ${ASKED_TIMES} as asked_times` : sql``} from ${sql.table(table)}
    where tenant_id = ${run.tenantId} and run_id = ${run.runId} and ${sql.ref(idColumn)} = any(${[...ids]}::text[])`.execute(
    db,
  );
  return new Map(rows.map((row) => [String(row[idColumn]), row]));
}

interface LatestRows {
  control_orders: Selectable<ControlOrdersTable>;
  circuit_breakers: Selectable<CircuitBreakersTable>;
}

/** A run has at most one order and one breaker. */
async function latestOf<T extends keyof LatestRows>(
  db: ReadOnly,
  run: TimelineRun,
  table: T,
  ids: readonly string[],
): Promise<readonly LatestRows[T][]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<LatestRows[T]>`
    select * from ${sql.table(table)}
    where tenant_id = ${run.tenantId} and scope = 'run' and scope_id = ${run.runId}`.execute(db);
  return rows;
}
