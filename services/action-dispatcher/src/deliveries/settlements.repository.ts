import { deliverySettled } from '@agentlens/contracts';
import type { DeliveryAttemptsTable, Tables } from '@agentlens/database';
import { type Kysely, type Selectable, sql } from 'kysely';
import { WRITER } from '../outbox/outbox.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';

type AttemptRow = Pick<
  Selectable<DeliveryAttemptsTable>,
  'started_at' | 'finished_at' | 'outcome' | 'http_status' | 'detail' | 'exchange'
>;

/**
 * Why an action was given up: all attempts failed; the receiver, our address guard or its config rejected it; its
 * destination was unavailable for too long or is disabled; there is nothing to carry out.
 */
export type GivenUpDelivery = 'out_of_attempts' | 'rejected' | 'waited_too_long' | 'disabled' | 'impossible';

/** What happens to the delivery next. */
export type Next =
  | { readonly kind: 'settled'; readonly result: 'success' }
  | { readonly kind: 'settled'; readonly result: 'failed'; readonly why: GivenUpDelivery }
  | { readonly kind: 'retry'; readonly atMs: number };

export interface Settlement {
  readonly at: number;
  readonly next: Next;
  readonly detail: string | null;
  /** Identifies the message at its receiver. */
  readonly receipt?: string | undefined;
  /** Absent if no attempt was made. */
  readonly attempt?: AttemptRow;
  /** Set if the receiver is gone for good: its destination is disabled. */
  readonly disable?: { readonly label: string; readonly reason: string };
}

/** A delivery and its result. */
export interface SettledDelivery {
  readonly delivery: ClaimedDelivery;
  readonly settlement: Settlement;
}

/** Records attempts, next states, history and facts in one statement. */
export class SettlementsRepository {
  constructor(private readonly db: Kysely<Tables>) {}

  /**
   * Ignores deliveries whose lease has moved on. One statement for all: every delivery passes here, and a round trip
   * each would add up.
   *
   * @returns the deliveries that were settled; a fact of each is in the outbox
   */
  async settle(settled: readonly SettledDelivery[]): Promise<readonly SettledDelivery[]> {
    const { rows } = await sql<{ n: number }>`
      with given as materialized (
        select * from jsonb_to_recordset(${JSON.stringify(settled.map(rowOf))}::jsonb) as g (
          n int, tenant_id text, delivery_id text, lease_id text, destination text, attempts int, result text, detail text,
          at timestamptz, next_at timestamptz, settled_at timestamptz, started_at timestamptz, finished_at timestamptz,
          outcome text, http_status int, attempt_detail text, exchange jsonb, disable_label text, disable_reason text, receipt text, fact jsonb
        )
      ), moved as (
        update deliveries d
        set attempts = g.attempts, result = g.result, detail = g.detail, lease_id = null, lease_until = null,
          next_attempt_at = g.next_at, settled_at = g.settled_at, receipt = coalesce(g.receipt, d.receipt)
        from given g
        where d.tenant_id = g.tenant_id and d.delivery_id = g.delivery_id and d.lease_id = g.lease_id
        returning g.*, d.trigger_id, d.triggered_at, d.webhook_id, d.channel_id
      ), attempted as (
        insert into delivery_attempts (tenant_id, delivery_id, attempt, started_at, finished_at, outcome, http_status, detail, exchange)
        select tenant_id, delivery_id, attempts, started_at, finished_at, outcome, http_status, attempt_detail, exchange
        from moved where outcome is not null
      ), history as (
        update guardrail_triggers t
        set action_result = m.result, action_detail = m.detail, settled_at = m.settled_at
        from moved m
        where t.tenant_id = m.tenant_id and t.triggered_at = m.triggered_at and t.trigger_id = m.trigger_id
          and m.webhook_id is null and m.channel_id is null
      ), disabled as (
        insert into destinations (tenant_id, destination, label, disabled_at, disabled_reason)
        select distinct on (tenant_id, destination) tenant_id, destination, disable_label, at, disable_reason
        from moved where disable_reason is not null and destination is not null
        order by tenant_id, destination
        on conflict (tenant_id, destination)
        do update set disabled_at = excluded.disabled_at, disabled_reason = excluded.disabled_reason
      ), published as (
        insert into outbox (writer, topic, body, created_at)
        select ${WRITER}::text, ${deliverySettled.name}::text, fact, at from moved where settled_at is not null
      )
      select n from moved where settled_at is not null
    `.execute(this.db);
    return rows.flatMap(({ n }) => settled[n] ?? []);
  }
}

function rowOf({ delivery, settlement }: SettledDelivery, n: number) {
  const { at, next, detail, attempt, disable, receipt } = settlement;
  const { tenantId, deliveryId, leaseId, destination } = delivery;
  const attempts = delivery.attempts + (attempt === undefined ? 0 : 1);
  return {
    n,
    tenant_id: tenantId,
    delivery_id: deliveryId,
    lease_id: leaseId,
    destination: destination?.id,
    attempts,
    result: resultOf(next),
    detail,
    at: iso(at),
    next_at: next.kind === 'retry' ? iso(next.atMs) : null,
    settled_at: next.kind === 'settled' ? iso(at) : null,
    started_at: attempt?.started_at,
    finished_at: attempt?.finished_at,
    outcome: attempt?.outcome,
    http_status: attempt?.http_status,
    attempt_detail: attempt?.detail,
    exchange: attempt?.exchange,
    disable_label: disable?.label,
    disable_reason: disable?.reason,
    receipt,
    fact: factOf(delivery, settlement, attempts),
  };
}

function factOf(delivery: ClaimedDelivery, settlement: Settlement, attempts: number) {
  const { deliveryId, triggerId, tenantId, ruleId, agentId, actionType, webhookId } = delivery;
  return {
    deliveryId,
    triggerId,
    tenantId,
    ruleId,
    agentId,
    webhookId: webhookId ?? undefined,
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
