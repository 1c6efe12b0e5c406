import { deliverySettled } from '@agentlens/contracts';
import type { DeliveryAttemptsTable, Tables } from '@agentlens/database';
import { type Kysely, type Selectable, sql } from 'kysely';
import { WRITER } from '../outbox/outbox.ts';
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

  /**
   * False, and nothing is changed, where the lease has moved on: somebody else's result counts. One statement, because
   * every delivery passes here and each round trip would be paid by all of them.
   */
  async settle(delivery: ClaimedDelivery, settlement: Settlement): Promise<boolean> {
    const { next, detail, attempt, disable } = settlement;
    const { tenantId, deliveryId, leaseId, destination } = delivery;
    const attempts = delivery.attempts + (attempt === undefined ? 0 : 1);
    const at = iso(settlement.at);
    const settledAt = next.kind === 'settled' ? at : null;
    const nextAt = next.kind === 'retry' ? iso(next.atMs) : null;
    const fact = JSON.stringify(factOf(delivery, settlement, attempts));
    const { rows } = await sql<{ moved: number }>`
      with moved as (
        update deliveries
        set attempts = ${attempts}, result = ${resultOf(next)}, detail = ${detail}, lease_id = null, lease_until = null,
          next_attempt_at = ${nextAt}, settled_at = ${settledAt}
        where tenant_id = ${tenantId} and delivery_id = ${deliveryId} and lease_id = ${leaseId}
        returning tenant_id, delivery_id, trigger_id, triggered_at
      ), attempted as (
        insert into delivery_attempts (tenant_id, delivery_id, attempt, started_at, finished_at, outcome, http_status, detail)
        select tenant_id, delivery_id, ${attempts}::integer, ${attempt?.started_at ?? null}::timestamptz,
          ${attempt?.finished_at ?? null}::timestamptz, ${attempt?.outcome ?? null}::text,
          ${attempt?.http_status ?? null}::integer, ${attempt?.detail ?? null}::text
        from moved where ${attempt !== undefined}::boolean
      ), history as (
        update guardrail_triggers t
        set action_result = ${resultOf(next)}, action_detail = ${detail}, settled_at = ${settledAt}
        from moved m
        where t.tenant_id = m.tenant_id and t.triggered_at = m.triggered_at and t.trigger_id = m.trigger_id
      ), disabled as (
        insert into destinations (tenant_id, destination, label, disabled_at, disabled_reason)
        select tenant_id, ${destination?.id ?? null}::text, ${disable?.label ?? null}::text, ${at}::timestamptz,
          ${disable?.reason ?? null}::text
        from moved where ${disable !== undefined && destination !== null}::boolean
        on conflict (tenant_id, destination)
        do update set disabled_at = excluded.disabled_at, disabled_reason = excluded.disabled_reason
      ), published as (
        insert into outbox (writer, topic, body, created_at)
        select ${WRITER}::text, ${deliverySettled.name}::text, ${fact}::jsonb, ${at}::timestamptz
        from moved where ${next.kind === 'settled'}::boolean
      )
      select count(*) as moved from moved
    `.execute(this.db);
    return Number(rows[0]?.moved ?? 0) === 1;
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
