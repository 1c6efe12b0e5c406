import { ApprovalBinding, alertChanged, type ControlOrder, type EndedCall, MAX_ANCESTORS } from '@agentlens/contracts';
import { type AlertsTable, alertFromRow, lockUntilEnd, type Tables } from '@agentlens/database';
import { foldedName } from '@agentlens/guardrails/names';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { putInOutbox } from '../outbox/outbox.ts';
import { queueWebhooks } from '../webhooks/webhook.queue.ts';
import { noticeOfAlert } from '../webhooks/webhook-notice.ts';
import { routeAlert } from '../notices/alert-routing.ts';
import { readLabels } from '../notices/routing-state.ts';
import type { WaitingApprovals } from './alert-metrics.ts';
import { queueAlertWebhooks } from './alert-webhook.ts';

export type AlertRow = Selectable<AlertsTable>;

type Lifetime = Pick<AlertRow, 'status' | 'expires_at' | 'used_at'>;

/** True while the alert can still be decided. */
export function isOpen({ status }: Pick<AlertRow, 'status'>): boolean {
  return status === 'pending' || status === 'acknowledged';
}

/** True once the alert has expired, whether or not the sweeper has closed it. */
export function hasLapsed(row: Lifetime, now: number): boolean {
  if (row.expires_at === null || Date.parse(row.expires_at) > now) return false;
  return isOpen(row) || (row.status === 'approved' && row.used_at === null);
}

type Tx = Transaction<Tables>;

/**
 * Maximum number of descendant runs whose approvals are cancelled. Calls of further runs are rejected when they ask.
 */
const MAX_DESCENDANTS = 1_000;

/** Columns of a new alert. */
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
> & {
  readonly policy?: object;
  readonly requesters?: object;
};

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

/** Opens an alert and publishes it in the same transaction. Returns undefined if there is one already. */
export async function openAlert(tx: Tx, alert: NewAlert): Promise<AlertRow | undefined> {
  const labels = JSON.stringify(await readLabels(tx, alert));
  const row = await tx
    .insertInto('alerts')
    .values({
      ...alert,
      approval: alert.approval === null ? null : JSON.stringify(alert.approval),
      policy: alert.policy === undefined ? null : JSON.stringify(alert.policy),
      requesters: alert.requesters === undefined ? null : JSON.stringify(alert.requesters),
      labels,
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

/** Writes and publishes the next version of a row that this transaction has locked. */
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

/** Expires an alert. */
export function lapse(tx: Tx, row: AlertRow, at: string): Promise<AlertRow> {
  return changeAlert(tx, row, { status: 'expired', dedupe: null, decided_at: row.decided_at ?? at }, at);
}

export function lockAlert(tx: Tx, tenantId: string, alertId: string): Promise<AlertRow | undefined> {
  return ofTenant(tx, tenantId).where('alert_id', '=', alertId).forUpdate().executeTakeFirst();
}

/** The open alert that later alerts of the same kind, rule, agent and run are folded into. */
export function lockByDedupe(tx: Tx, tenantId: string, dedupe: string): Promise<AlertRow | undefined> {
  return ofTenant(tx, tenantId)
    .where('dedupe', '=', dedupe)
    .where('status', 'in', ['pending', 'acknowledged'])
    .forUpdate()
    .executeTakeFirst();
}

/** Alerts about changes that are pending, or have one of these ids. */
export function readChangeAlerts(
  db: Kysely<Tables>,
  tenantId: string,
  ids: readonly string[],
): Promise<Pick<AlertRow, 'alert_id' | 'dedupe'>[]> {
  return db
    .selectFrom('alerts')
    .select(['alert_id', 'dedupe'])
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', 'change')
    .where((eb) => eb.or([eb('status', '=', 'pending'), eb('alert_id', 'in', [...ids, ''])]))
    .execute();
}

/** Alerts of a kind that no person has seen yet, raised before that time. */
export function lockPending(tx: Tx, tenantId: string, kind: AlertRow['kind'], before: string): Promise<AlertRow[]> {
  return ofTenant(tx, tenantId)
    .where('kind', '=', kind)
    .where('status', '=', 'pending')
    .where('created_at', '<=', before)
    .orderBy('alert_id')
    .forUpdate()
    .execute();
}

/** The approval of one call: the unused one if there is one, otherwise the last used. */
export function lockByBinding(tx: Tx, tenantId: string, binding: string): Promise<AlertRow | undefined> {
  return ofTenant(tx, tenantId)
    .where('binding', '=', binding)
    .orderBy('used_at', (order) => order.desc().nullsFirst())
    .orderBy('created_at', 'desc')
    .limit(1)
    .forUpdate()
    .executeTakeFirst();
}

/** Equal arguments under different tools: more denials of one run than a person gives. */
const MAX_DENIALS_READ = 200;

/**
 * The latest denial of an equal call of the run: same arguments and a tool of the same name as rules compare it, with
 * any call id and rule. Another case or an invisible character makes no other tool.
 */
export async function deniedCall(
  tx: Tx,
  tenantId: string,
  agentId: string,
  { runId, toolName, argsHash }: ApprovalBinding,
): Promise<AlertRow | undefined> {
  const rows = await ofTenant(tx, tenantId)
    .where('kind', '=', 'approval')
    .where('run_id', '=', runId)
    .where('agent_id', '=', agentId)
    .where('status', '=', 'denied')
    .where(sql<boolean>`approval ->> 'argsHash' = ${argsHash}`)
    .orderBy('created_at', 'desc')
    .limit(MAX_DENIALS_READ)
    .execute();
  const wanted = foldedName(toolName);
  return rows.find(({ approval }) => foldedName(ApprovalBinding.parse(approval).toolName) === wanted);
}

/** Changes no version and publishes nothing. */
export async function noteRetry(tx: Tx, { tenant_id, alert_id }: AlertRow, at: string): Promise<void> {
  await tx
    .updateTable('alerts')
    .set({ retried_at: at })
    .where('tenant_id', '=', tenant_id)
    .where('alert_id', '=', alert_id)
    .execute();
}

/** Marks approvals of ended calls as spent. @returns how many */
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

/** Expired alerts of all tenants, longest overdue first. Skips rows that another replica has locked. */
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

/** Author of the end of an approval whose run ended before anybody decided. */
export const END_OF_RUN = 'the end of its run';

/** A run reports its end before its last questions are answered, and a program may start it again at once. */
const ENDED_FOR_MS = 30_000;

/**
 * Undecided approvals whose run has reported its end, of all tenants. A run that was interrupted or lost may go on and
 * use its approval, such as a graph that is resumed.
 */
export function lockOrphaned(tx: Tx, nowMs: number, limit: number): Promise<AlertRow[]> {
  return tx
    .selectFrom('alerts')
    .innerJoin('runs', (join) =>
      join.onRef('runs.tenant_id', '=', 'alerts.tenant_id').onRef('runs.run_id', '=', 'alerts.run_id'),
    )
    .selectAll('alerts')
    .where('alerts.kind', '=', 'approval')
    .where('alerts.status', 'in', ['pending', 'acknowledged'])
    .where('runs.status', 'in', ['succeeded', 'failed', 'cancelled', 'timed_out'])
    .where('runs.updated_at', '<=', new Date(nowMs - ENDED_FOR_MS).toISOString())
    .orderBy('alerts.alert_id')
    .limit(limit)
    .forUpdate('alerts')
    .skipLocked()
    .execute();
}

/** Closes an approval that no run waits for. If the run goes on and repeats the call, a person is asked again. */
export function endWithRun(tx: Tx, row: AlertRow, at: string): Promise<AlertRow> {
  const reason = 'The run ended before anybody decided';
  return changeAlert(
    tx,
    row,
    { status: 'cancelled', dedupe: null, decided_at: at, decided_by: END_OF_RUN, reason },
    at,
  );
}

/** Undecided approvals of a run and its descendants, of an agent, or of the whole tenant. */
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

/** The depth is bounded, so a cycle of parents ends. */
function runAndDescendants(tenantId: string, runId: string) {
  return sql<string>`(
    with recursive tree as (
      select ${runId}::text as run_id, 0 as depth
      union all
      select r.run_id, tree.depth + 1
      from tree join runs r on r.tenant_id = ${tenantId} and r.parent_run_id = tree.run_id
      where tree.depth < ${MAX_ANCESTORS}
    )
    select run_id from tree limit ${MAX_DESCENDANTS}
  )`;
}

/** Counts pending approvals of all tenants. */
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

/** Counts a suppressed alert. Changes no version and publishes nothing. */
export function countSuppressed(tx: Tx, row: AlertRow): Promise<AlertRow> {
  return tx
    .updateTable('alerts')
    .set((eb) => ({ suppressed: eb('suppressed', '+', 1) }))
    .where('tenant_id', '=', row.tenant_id)
    .where('alert_id', '=', row.alert_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Serialises raising per tenant across replicas, so that counting and deduplication are exact. */
export async function lockRaising(tx: Tx, tenantId: string): Promise<void> {
  await lockUntilEnd(tx, 'alerts', tenantId);
}

/** Number of alerts raised since then, without approvals. */
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
  await routeAlert(tx, row, at);
}

/**
 * Makes text safe to store and to show: removes control characters except line breaks and tabs, and lone surrogates.
 */
export function cleanText(text: string, maxLength: number): string {
  return text
    .replaceAll(/[^\P{Cc}\n\t]+/gu, ' ')
    .slice(0, maxLength)
    .toWellFormed()
    .trim();
}
