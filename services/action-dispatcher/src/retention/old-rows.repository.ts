import { dropPartitions, type Tables } from '@agentlens/database';
import { type Kysely, sql } from 'kysely';

/** A statement may run for ten seconds; this many rows take well under one. */
export const ROWS_AT_ONCE = 1_000;

/** Rows removed, by table. */
export type Removed = Readonly<
  Partial<Record<'deliveries' | 'delivery_attempts' | 'alerts' | 'approval_calls', number>>
>;

/** Removes rows past retention, of all tenants, in bounded batches. Replicas do not block each other. */
export class OldRows {
  constructor(private readonly db: Kysely<Tables>) {}

  /** Drops partitions of triggers that end before then. @returns how many. @throws database errors */
  async dropTriggerMonths(beforeMs: number): Promise<number> {
    return dropPartitions(this.db, 'guardrail_triggers', beforeMs);
  }

  /** Deliveries with their attempts and notices. Unsettled deliveries stay regardless of age. */
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
      ),
      told as (
        delete from notices n using gone
        where n.tenant_id = gone.tenant_id and n.delivery_id = gone.delivery_id returning n.tenant_id, n.notice_id
      ),
      told_alerts as (
        delete from notice_alerts a using told where a.tenant_id = told.tenant_id and a.notice_id = told.notice_id
      )
      select (select count(*) from gone) as deliveries, (select count(*) from attempts) as delivery_attempts`.execute(
      this.db,
    );
    return rows[0] ?? {};
  }

  /** Decided and expired alerts with their calls. Pending alerts stay, and so do approvals still in force. */
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

  /** Sealed calls of ended approvals, for tenants that keep contents for less time. */
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
