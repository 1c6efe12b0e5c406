import {
  type ApprovalBinding,
  alertChanged,
  type ControlOrder,
  type EndedCall,
  MOST_ANCESTORS,
} from '@agentlens/contracts';
import { alertFromRow, lockUntilEnd, type Tables } from '@agentlens/database';
import { type Kysely, sql, type Transaction } from 'kysely';
import { putInOutbox } from '../outbox/outbox.ts';
import { queueWebhooks } from '../webhooks/webhook.queue.ts';
import { noticeOfAlert } from '../webhooks/webhook-notice.ts';
import type { WaitingApprovals } from './alert-metrics.ts';
import type { AlertRow } from './alert-row.ts';
import { queueAlertWebhooks } from './alert-webhook.queue.ts';

type Tx = Transaction<Tables>;

/** Approvals of further runs are cancelled by nobody; their calls are refused when they are asked about. */
const MOST_DESCENDANTS = 1_000;

/** What an alert begins with; the rest comes with its changes. */
export type NewAlert = Pick<
  AlertRow,
  | 'tenant_id'
  | 'alert_id'
  | 'kind'
  | 'severity'
  | 'title'
  | 'message'
  | 'agent_id'
  | 'run_id'
  | 'rule_id'
  | 'approval'
  | 'binding'
  | 'dedupe'
  | 'asked_by'
  | 'created_at'
  | 'expires_at'
  | 'suppressed'
>;

type Change = Partial<
  Pick<
    AlertRow,
    | 'status'
    | 'dedupe'
    | 'expires_at'
    | 'acknowledged_at'
    | 'acknowledged_by'
    | 'decided_at'
    | 'decided_by'
    | 'reason'
    | 'used_at'
    | 'used_by'
  >
>;

/** Undefined, and nothing is written, where there is such an alert already. Published by the transaction that opens it. */
export async function openAlert(tx: Tx, alert: NewAlert): Promise<AlertRow | undefined> {
  const row = await tx
    .insertInto('alerts')
    .values({
      ...alert,
      approval: alert.approval === null ? null : JSON.stringify(alert.approval),
      status: 'pending',
      acknowledged_at: null,
      acknowledged_by: null,
      decided_at: null,
      decided_by: null,
      reason: null,
      used_at: null,
      version: 1,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (row !== undefined) await announce(tx, row, row.created_at);
  return row;
}

/** The next version of a row this transaction holds the lock of, published by the same transaction. */
export async function changeAlert(tx: Tx, row: AlertRow, change: Change, at: string): Promise<AlertRow> {
  const changed = await tx
    .updateTable('alerts')
    .set({ ...change, version: row.version + 1 })
    .where('tenant_id', '=', row.tenant_id)
    .where('alert_id', '=', row.alert_id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await announce(tx, changed, at);
  return changed;
}

/** Ends an alert whose time has run out. */
export function lapse(tx: Tx, row: AlertRow, at: string): Promise<AlertRow> {
  return changeAlert(tx, row, { status: 'expired', dedupe: null, decided_at: row.decided_at ?? at }, at);
}

export function lockAlert(tx: Tx, tenantId: string, alertId: string): Promise<AlertRow | undefined> {
  return ofTenant(tx, tenantId).where('alert_id', '=', alertId).forUpdate().executeTakeFirst();
}

/** The open alert that stands for all others of its kind, rule, agent and run. */
export function lockByDedupe(tx: Tx, tenantId: string, dedupe: string): Promise<AlertRow | undefined> {
  return ofTenant(tx, tenantId)
    .where('dedupe', '=', dedupe)
    .where('status', 'in', ['pending', 'acknowledged'])
    .forUpdate()
    .executeTakeFirst();
}

/** The approval of exactly one call: the one not used yet, or else the one used last. */
export function lockByBinding(tx: Tx, tenantId: string, binding: string): Promise<AlertRow | undefined> {
  return ofTenant(tx, tenantId)
    .where('binding', '=', binding)
    .orderBy('used_at', (order) => order.desc().nullsFirst())
    .orderBy('created_at', 'desc')
    .limit(1)
    .forUpdate()
    .executeTakeFirst();
}

/** The latest denial of an equal call of the run: same tool and arguments, whatever its call id and the rule that asked. */
export function deniedCall(
  tx: Tx,
  tenantId: string,
  agentId: string,
  { runId, toolName, argsHash }: ApprovalBinding,
): Promise<AlertRow | undefined> {
  return ofTenant(tx, tenantId)
    .where('kind', '=', 'approval')
    .where('run_id', '=', runId)
    .where('agent_id', '=', agentId)
    .where('status', '=', 'denied')
    .where(sql<boolean>`approval ->> 'toolName' = ${toolName} and approval ->> 'argsHash' = ${argsHash}`)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Nothing to publish: the alert is as good, or as used, as before. */
export async function noteRetry(tx: Tx, { tenant_id, alert_id }: AlertRow, at: string): Promise<void> {
  await tx
    .updateTable('alerts')
    .set({ retried_at: at })
    .where('tenant_id', '=', tenant_id)
    .where('alert_id', '=', alert_id)
    .execute();
}

/** Marks the used approvals of calls that have ended; answers how many. */
export async function spendApprovals(
  db: Kysely<Tables>,
  tenantId: string,
  calls: readonly EndedCall[],
  at: string,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update alerts set spent_at = ${at}
    from json_to_recordset(${JSON.stringify(calls)}::json)
      as ended("runId" text, "callId" text, "toolName" text, "argsHash" text)
    where tenant_id = ${tenantId} and run_id = ended."runId"
      and kind = 'approval' and used_at is not null and spent_at is null
      and approval->>'callId' is not distinct from ended."callId"
      and (ended."callId" is not null
        or (approval->>'toolName' = ended."toolName" and approval->>'argsHash' = ended."argsHash"))
  `.execute(db);
  return Number(numAffectedRows);
}

/** Alerts whose time has run out, of all tenants, longest overdue first, that no other replica has in hand. */
export function lockLapsed(tx: Tx, at: string, limit: number): Promise<AlertRow[]> {
  return tx
    .selectFrom('alerts')
    .selectAll()
    .where('expires_at', '<=', at)
    .where('status', 'in', ['pending', 'acknowledged', 'approved'])
    .where('used_at', 'is', null)
    .orderBy('expires_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute();
}

/** The approvals that nobody has decided about yet, of a run and those that come from it, an agent or the whole tenant. */
export function lockWaiting(
  tx: Tx,
  { tenantId, scope, scopeId }: Pick<ControlOrder, 'tenantId' | 'scope' | 'scopeId'>,
): Promise<AlertRow[]> {
  const waiting = ofTenant(tx, tenantId)
    .where('kind', '=', 'approval')
    .where('status', 'in', ['pending', 'acknowledged']);
  const ofRuns = scope === 'run' ? waiting.where('run_id', 'in', runAndDescendants(tenantId, scopeId)) : waiting;
  const ofScope = scope === 'agent' ? ofRuns.where('agent_id', '=', scopeId) : ofRuns;
  return ofScope.orderBy('alert_id').forUpdate().execute();
}

/** A run has one parent, so that a circle is walked once per level and ends with them. */
function runAndDescendants(tenantId: string, runId: string) {
  return sql<string>`(
    with recursive tree as (
      select ${runId}::text as run_id, 0 as depth
      union all
      select r.run_id, tree.depth + 1
      from tree join runs r on r.tenant_id = ${tenantId} and r.parent_run_id = tree.run_id
      where tree.depth < ${MOST_ANCESTORS}
    )
    select run_id from tree limit ${MOST_DESCENDANTS}
  )`;
}

/** The approvals of all tenants that nobody has decided about and that have not run out. */
export async function countWaiting(db: Kysely<Tables>, now: number): Promise<WaitingApprovals> {
  const { approvals, oldest } = await db
    .selectFrom('alerts')
    .select(({ fn }) => [fn.countAll<number>().as('approvals'), fn.min('created_at').as('oldest')])
    .where('kind', '=', 'approval')
    .where('status', 'in', ['pending', 'acknowledged'])
    .where('expires_at', '>', new Date(now).toISOString())
    .executeTakeFirstOrThrow();
  return { approvals: Number(approvals), oldestMs: oldest === null ? 0 : Math.max(0, now - Date.parse(oldest)) };
}

/** Counts one more alert on one that stands for it: no new version, nothing to publish. */
export function countSuppressed(tx: Tx, row: AlertRow): Promise<AlertRow> {
  return tx
    .updateTable('alerts')
    .set((eb) => ({ suppressed: eb('suppressed', '+', 1) }))
    .where('tenant_id', '=', row.tenant_id)
    .where('alert_id', '=', row.alert_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** One raising at a time per tenant, over all replicas: what makes counting and deduplicating exact. */
export async function lockRaising(tx: Tx, tenantId: string): Promise<void> {
  await lockUntilEnd(tx, 'alerts', tenantId);
}

/** Alerts raised since then, approvals aside: those are questions of agents and wait for an answer. */
export async function raisedSince(tx: Tx, tenantId: string, since: string): Promise<number> {
  const { raised } = await tx
    .selectFrom('alerts')
    .select((eb) => eb.fn.countAll<number>().as('raised'))
    .where('tenant_id', '=', tenantId)
    .where('created_at', '>', since)
    .where('kind', '<>', 'approval')
    .executeTakeFirstOrThrow();
  return Number(raised);
}

function ofTenant(tx: Kysely<Tables>, tenantId: string) {
  return tx.selectFrom('alerts').selectAll().where('tenant_id', '=', tenantId);
}

async function announce(tx: Tx, row: AlertRow, at: string): Promise<void> {
  const alert = alertFromRow(row);
  await putInOutbox(tx, alertChanged, alert, at);
  await queueAlertWebhooks(tx, alert, at);
  await queueWebhooks(tx, [noticeOfAlert(alert, at)], at);
}
