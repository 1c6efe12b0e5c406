import { dropPartitions, type Tables } from '@agentlens/database';
import { type Kysely, sql } from 'kysely';

/** One statement may run for ten seconds; this many rows take well under one. */
export const ROWS_AT_ONCE = 1_000;

/** How many rows went, by table. */
export type Removed = Readonly<
  Partial<Record<'deliveries' | 'delivery_attempts' | 'alerts' | 'approval_calls', number>>
>;

/** Removes what is past retention, across tenants, a bounded number of rows at a time. Replicas do not get in each other's way. */
export class OldRows {
  constructor(private readonly db: Kysely<Tables>) {}

  /** Months of triggers that ended by then. Answers how many. @throws what Postgres says. */
  async dropTriggerMonths(beforeMs: number): Promise<number> {
    return dropPartitions(this.db, 'guardrail_triggers', beforeMs);
  }

  /** Deliveries with their attempts. One that is not settled is not history yet, however old it is. */
  async removeDeliveries(before: string): Promise<Removed> {
    const { rows } = await sql<Removed>`
      with old as (
        select ctid from deliveries
        where created_at < ${before}::timestamptz and next_attempt_at is null and settled_at < ${before}::timestamptz
        limit ${ROWS_AT_ONCE} for update skip locked
      ),
      gone as (
        delete from deliveries where ctid = any(array(select ctid from old)) returning tenant_id, delivery_id
      ),
      attempts as (
        delete from delivery_attempts a using gone
        where a.tenant_id = gone.tenant_id and a.delivery_id = gone.delivery_id returning 1
      )
      select (select count(*) from gone) as deliveries, (select count(*) from attempts) as delivery_attempts`.execute(
      this.db,
    );
    return rows[0] ?? {};
  }

  /** Alerts that were decided, or ran out, with the calls they were about. One that waits for somebody stays, and so does an approval that still holds. */
  async removeAlerts(before: string): Promise<Removed> {
    const { rows } = await sql<Removed>`
      with old as (
        select ctid from alerts
        where created_at < ${before}::timestamptz and status not in ('pending', 'acknowledged')
          and coalesce(decided_at, created_at) < ${before}::timestamptz
          and (expires_at is null or expires_at < ${before}::timestamptz)
        limit ${ROWS_AT_ONCE} for update skip locked
      ),
      gone as (delete from alerts where ctid = any(array(select ctid from old)) returning tenant_id, alert_id),
      calls as (
        delete from approval_calls c using gone where c.tenant_id = gone.tenant_id and c.alert_id = gone.alert_id
      )
      select count(*) as alerts from gone`.execute(this.db);
    return rows[0] ?? {};
  }

  /** The sealed calls of approvals that came to an end, of tenants that keep contents for less long than the rest. */
  async removeCalls(now: string): Promise<Removed> {
    const { rows } = await sql<Removed>`
      with old as (
        select c.ctid from approval_calls c
        join tenants t on t.id = c.tenant_id
        join alerts a on a.tenant_id = c.tenant_id and a.alert_id = c.alert_id
        where c.created_at < ${now}::timestamptz - t.content_retention_days * interval '1 day'
          and a.status not in ('pending', 'acknowledged') and (a.expires_at is null or a.expires_at < ${now}::timestamptz)
        limit ${ROWS_AT_ONCE} for update of c skip locked
      ),
      gone as (delete from approval_calls where ctid = any(array(select ctid from old)) returning 1)
      select count(*) as approval_calls from gone`.execute(this.db);
    return rows[0] ?? {};
  }
}
