import { deliverySettled } from '@agentlens/contracts';
import type { DeliveryAttemptsTable, Tables } from '@agentlens/database';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { putInOutbox } from '../outbox/outbox.ts';
import type { ClaimedDelivery } from './deliveries.repository.ts';

export type Attempt = Pick<
  Selectable<DeliveryAttemptsTable>,
  'started_at' | 'finished_at' | 'outcome' | 'http_status' | 'detail'
>;

/** Where a delivery goes from here. */
export type Next =
  | { readonly kind: 'settled'; readonly result: 'success' | 'failed' }
  | { readonly kind: 'retry'; readonly atMs: number };

export interface Settlement {
  readonly at: number;
  readonly next: Next;
  readonly detail: string | null;
  /** Absent where nothing was tried. */
  readonly attempt?: Attempt;
  /** The receiver is gone for good: send nothing more to it. */
  readonly disable?: { readonly label: string; readonly reason: string };
}

/** Ends an attempt: the attempt's row, the delivery's next state, the history and the published fact, all or none. */
export class SettlementsRepository {
  constructor(private readonly db: Kysely<Tables>) {}

  /** False, and nothing is changed, where the lease has moved on: somebody else's result counts. */
  async settle(delivery: ClaimedDelivery, settlement: Settlement): Promise<boolean> {
    return this.db.transaction().execute(async (tx) => {
      const attempts = delivery.attempts + (settlement.attempt === undefined ? 0 : 1);
      if (!(await moveOn(tx, delivery, settlement, attempts))) return false;
      if (settlement.attempt !== undefined) await insertAttempt(tx, delivery, settlement.attempt, attempts);
      await updateHistory(tx, delivery, settlement);
      if (settlement.disable !== undefined) await disable(tx, delivery, settlement.disable, settlement.at);
      if (settlement.next.kind === 'settled') {
        await putInOutbox(tx, deliverySettled, factOf(delivery, settlement, attempts), iso(settlement.at));
      }
      return true;
    });
  }

  async isDisabled(tenantId: string, destination: string): Promise<string | null> {
    const row = await this.db
      .selectFrom('destinations')
      .select('disabled_reason')
      .where('tenant_id', '=', tenantId)
      .where('destination', '=', destination)
      .where('disabled_at', 'is not', null)
      .executeTakeFirst();
    return row === undefined ? null : (row.disabled_reason ?? 'no reason given');
  }
}

async function moveOn(tx: Transaction<Tables>, delivery: ClaimedDelivery, settlement: Settlement, attempts: number) {
  const { next, detail, at } = settlement;
  const moved = await tx
    .updateTable('deliveries')
    .set({
      attempts,
      result: resultOf(next),
      next_attempt_at: next.kind === 'retry' ? iso(next.atMs) : null,
      settled_at: next.kind === 'settled' ? iso(at) : null,
      lease_id: null,
      lease_until: null,
      detail,
    })
    .where('tenant_id', '=', delivery.tenantId)
    .where('delivery_id', '=', delivery.deliveryId)
    .where('lease_id', '=', delivery.leaseId)
    .returning('delivery_id')
    .executeTakeFirst();
  return moved !== undefined;
}

async function insertAttempt(tx: Transaction<Tables>, delivery: ClaimedDelivery, attempt: Attempt, number: number) {
  const { tenantId: tenant_id, deliveryId: delivery_id } = delivery;
  await tx
    .insertInto('delivery_attempts')
    .values({ tenant_id, delivery_id, attempt: number, ...attempt })
    .execute();
}

async function updateHistory(tx: Transaction<Tables>, delivery: ClaimedDelivery, { next, detail, at }: Settlement) {
  await tx
    .updateTable('guardrail_triggers')
    .set({
      action_result: resultOf(next),
      action_detail: detail,
      settled_at: next.kind === 'settled' ? iso(at) : null,
    })
    .where('tenant_id', '=', delivery.tenantId)
    .where('triggered_at', '=', delivery.triggeredAt)
    .where('trigger_id', '=', delivery.triggerId)
    .execute();
}

async function disable(
  tx: Transaction<Tables>,
  { tenantId, destination }: ClaimedDelivery,
  { label, reason }: { readonly label: string; readonly reason: string },
  at: number,
) {
  if (destination === null) return;
  const disabled = { disabled_at: iso(at), disabled_reason: reason };
  await tx
    .insertInto('destinations')
    .values({ tenant_id: tenantId, destination: destination.id, label, ...disabled })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'destination']).doUpdateSet(disabled))
    .execute();
}

function factOf(delivery: ClaimedDelivery, settlement: Settlement, attempts: number) {
  const { deliveryId, triggerId, tenantId, ruleId, agentId, actionType } = delivery;
  return {
    deliveryId,
    triggerId,
    tenantId,
    ruleId,
    agentId,
    actionType,
    result: resultOf(settlement.next),
    attempts,
    detail: settlement.detail ?? undefined,
    settledAt: iso(settlement.at),
  };
}

function resultOf(next: Next): 'success' | 'failed' | 'retrying' {
  return next.kind === 'settled' ? next.result : 'retrying';
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
