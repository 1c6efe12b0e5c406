import type { Database } from '@agentlens/database';
import { sql } from 'kysely';

/**
 * Removes the contents of an event's payload and metadata. Keeps what metrics and trees need and the fact that there
 * was an error, but no text of a person or model.
 */
export const WITHOUT_CONTENTS = `content_expired = true,
    payload = jsonb_strip_nulls(jsonb_build_object(
      'type', case when kind = 'custom.recorded' then payload->'type' end,
      'countedAs', payload->'countedAs', 'by', payload->'by', 'agentName', payload->'agentName',
      'durationMs', payload->'durationMs',
      'error', case when payload->>'error' is not null then 'removed' end)),
    metadata = jsonb_strip_nulls(jsonb_build_object('otlp', case when metadata->'otlp' is not null
      then jsonb_build_object('traceId', metadata#>'{otlp,traceId}', 'spanId', metadata#>'{otlp,spanId}',
        'parentSpanId', metadata#>'{otlp,parentSpanId}') end))`;

/** A statement may run for ten seconds; this many rows take well under one. */
const ROWS_AT_ONCE = 2_000;

/** Rows of a tenant from `from` (inclusive) to `before` (exclusive), RFC 3339. */
export interface ExpiredRange {
  readonly tenantId: string;
  readonly from: string;
  readonly before: string;
}

/** Rows whose contents were removed, by table. */
type ExpiredRows = Readonly<Record<'events' | 'decisions' | 'runs', number>>;

/** Removes contents and keeps the rows. */
export class OldContents {
  constructor(private readonly database: Pick<Database, 'db'>) {}

  /** Tenants that keep contents for less time than events, with the number of days. @throws database errors */
  async tenants(): Promise<readonly { readonly tenantId: string; readonly days: number }[]> {
    const { rows } = await sql<{ tenantId: string; days: number }>`
      select id as "tenantId", content_retention_days as days from tenants
      where content_retention_days is not null order by id`.execute(this.database.db);
    return rows;
  }

  /**
   * Removes the contents of a bounded number of rows. @returns counts, and whether more may be left. @throws database
   * errors
   */
  async expireSome({ tenantId, from, before }: ExpiredRange): Promise<{ expired: ExpiredRows; more: boolean }> {
    const limit = sql.lit(ROWS_AT_ONCE);
    const { rows } = await sql<ExpiredRows>`
      with old_events as (
        select tenant_id, occurred_at, event_id from events
        where tenant_id = ${tenantId} and occurred_at >= ${from}::timestamptz and occurred_at < ${before}::timestamptz
          and content_expired is null
        limit ${limit}
      ),
      stripped as (
        update events e set ${sql.raw(WITHOUT_CONTENTS)} from old_events o
        where e.tenant_id = o.tenant_id and e.occurred_at = o.occurred_at and e.event_id = o.event_id returning 1
      ),
      asked as (
        update decisions set arguments = null, arguments_cut = null where ctid = any(array(
          select ctid from decisions
          where tenant_id = ${tenantId} and decided_at >= ${from}::timestamptz and decided_at < ${before}::timestamptz
            and arguments is not null
          limit ${limit})) returning 1
      ),
      ended as (
        update runs set result = null, error_message = null where ctid = any(array(
          select ctid from runs
          where tenant_id = ${tenantId} and started_at >= ${from}::timestamptz and last_event_at < ${before}::timestamptz
            and (result is not null or error_message is not null)
          limit ${limit})) returning 1
      )
      select (select count(*) from stripped)::int as events, (select count(*) from asked)::int as decisions,
        (select count(*) from ended)::int as runs`.execute(this.database.db);
    const expired = rows[0] ?? { events: 0, decisions: 0, runs: 0 };
    return { expired, more: Math.max(...Object.values(expired)) === ROWS_AT_ONCE };
  }
}
