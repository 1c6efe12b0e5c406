import type { Tables } from '@agentlens/database';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { CommandAnswer } from '../answer.ts';
import { announceApproval } from '../notices/alert-routing.ts';

/** Data of runs in this service: triggers, alerts with their sealed calls, deliveries with their attempts. */
export class RunActions {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
  ) {}

  /**
   * Deletes all data of these runs except orders: a killed run stays killed. The audit log keeps who decided which
   * approval and loses the texts. Safe to repeat. @throws database errors
   */
  async delete(tenantId: string, runIds: readonly string[]): Promise<CommandAnswer<{ ok: true }>> {
    await this.#eraseAudit(tenantId, runIds);
    await this.#eraseNotices(tenantId, runIds);
    await this.db.transaction().execute(async (tx) => {
      await this.#endApprovals(tx, tenantId, runIds);
      await deleteRows(tx, tenantId, runIds);
    });
    return { ok: true, value: { ok: true } };
  }

  /**
   * Erases the contents and keeps the rows: deletes sealed calls and sent messages, and removes the texts of triggers,
   * alerts and their audit entries and the responses of receivers. Deliveries in progress are left to finish.
   *
   * @throws database errors
   */
  async erase(tenantId: string, runIds: readonly string[]): Promise<CommandAnswer<{ ok: true }>> {
    await this.#eraseAudit(tenantId, runIds);
    await this.#eraseNotices(tenantId, runIds);
    await sql`
      with runs as (select unnest(${[...runIds]}::text[]) as run_id),
      triggers as (
        update guardrail_triggers t set message = 'removed' from runs r
        where t.tenant_id = ${tenantId} and t.run_id = r.run_id returning t.trigger_id as id
      ),
      changed_alerts as (
        update alerts a set title = 'removed', message = 'removed', reason = null from runs r
        where a.tenant_id = ${tenantId} and a.run_id = r.run_id returning a.alert_id as id
      ),
      calls as (
        delete from approval_calls c using changed_alerts a where c.tenant_id = ${tenantId} and c.alert_id = a.id
      ),
      about as (select id from triggers union select id from changed_alerts),
      notifications as (
        delete from deliveries d using about
        where d.tenant_id = ${tenantId} and d.trigger_id = about.id and d.webhook_id is not null
          and d.next_attempt_at is null
        returning d.delivery_id
      ),
      attempts as (
        delete from delivery_attempts a using notifications where a.tenant_id = ${tenantId} and a.delivery_id = notifications.delivery_id
      )
      update delivery_attempts a set detail = null, exchange = null from deliveries d, about
      where d.tenant_id = ${tenantId} and d.trigger_id = about.id and d.webhook_id is null
        and a.tenant_id = ${tenantId} and a.delivery_id = d.delivery_id`.execute(this.db);
    return { ok: true, value: { ok: true } };
  }

  /** Tells the channels that show an open approval of these runs that it has ended: its buttons would stay otherwise. */
  async #endApprovals(tx: Transaction<Tables>, tenantId: string, runIds: readonly string[]): Promise<void> {
    const open = await tx
      .selectFrom('alerts')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where(sql<boolean>`run_id = any(${[...runIds]}::text[])`)
      .where('kind', '=', 'approval')
      .where('status', 'in', ['pending', 'acknowledged'])
      .forUpdate()
      .execute();
    const at = new Date(this.now()).toISOString();
    for (const row of open) await announceApproval(tx, { ...row, status: 'cancelled' }, at);
  }

  /** Removes what was sent to channels about alerts of these runs, with the answers. */
  async #eraseNotices(tenantId: string, runIds: readonly string[]): Promise<void> {
    await sql`
      update delivery_attempts t set detail = null, exchange = null
      from alerts a join notice_alerts s using (tenant_id, alert_id) join notices n using (tenant_id, notice_id)
      where a.tenant_id = ${tenantId} and a.run_id = any(${[...runIds]}::text[])
        and t.tenant_id = ${tenantId} and t.delivery_id = n.delivery_id`.execute(this.db);
  }

  /** Finds the entries by run, because they outlive the alert. What an update removes is the database's (0052). */
  async #eraseAudit(tenantId: string, runIds: readonly string[]): Promise<void> {
    await sql`
      update audit_entries set reason = null
      where tenant_id = ${tenantId} and target = 'alert' and after->>'runId' = any(${[...runIds]}::text[])
        and (reason is not null or after ?| array['title', 'message', 'reason'])`.execute(this.db);
  }
}

async function deleteRows(tx: Transaction<Tables>, tenantId: string, runIds: readonly string[]): Promise<void> {
  await sql`
    with runs as (select unnest(${[...runIds]}::text[]) as run_id),
    triggers as (
      delete from guardrail_triggers t using runs r
      where t.tenant_id = ${tenantId} and t.run_id = r.run_id returning t.trigger_id as id
    ),
    gone_alerts as (
      delete from alerts a using runs r where a.tenant_id = ${tenantId} and a.run_id = r.run_id
      returning a.alert_id as id
    ),
    calls as (
      delete from approval_calls c using gone_alerts a where c.tenant_id = ${tenantId} and c.alert_id = a.id
    ),
    gone_deliveries as (
      delete from deliveries d using (select id from triggers union select id from gone_alerts) as about
      -- A notice may be about other alerts, too; it holds ids only.
      where d.tenant_id = ${tenantId} and d.trigger_id = about.id and d.channel_id is null returning d.delivery_id
    )
    delete from delivery_attempts a using gone_deliveries d
    where a.tenant_id = ${tenantId} and a.delivery_id = d.delivery_id`.execute(tx);
}
