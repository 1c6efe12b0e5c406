import type { JsonObject, Trigger } from '@agentlens/contracts';
import type { DeliveriesTable, GuardrailTriggersTable, Tables } from '@agentlens/database';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { Destination } from '../destinations/destination.ts';

/** A delivery this process holds the lease of. */
export interface ClaimedDelivery {
  readonly tenantId: string;
  readonly deliveryId: string;
  readonly triggerId: string;
  readonly triggeredAt: string;
  readonly ruleId: string;
  readonly agentId: string;
  readonly leaseId: string;
  /** Attempts made so far. */
  readonly attempts: number;
  readonly createdAt: string;
  readonly actionType: string;
  /** Secrets inside are sealed. */
  readonly actionConfig: JsonObject;
  readonly destination: Destination | null;
  readonly traceparent: string | null;
  /** Null where its history row was dropped by retention. */
  readonly trigger: Trigger | null;
}

/** `internal` changes our own state, `outbound` calls somebody: a pause never queues behind slow webhooks. */
export type Lane = 'internal' | 'outbound';

export interface Claim {
  readonly limit: number;
  readonly now: number;
  readonly leaseId: string;
  readonly leaseMs: number;
  /** Deliveries that call nobody, or those that do. */
  readonly lane: Lane;
  /** Destinations and tenants that have all the places they may have. */
  readonly busy: { readonly destinations: readonly Destination[]; readonly tenants: readonly string[] };
}

export interface Deferral {
  readonly now: number;
  readonly untilMs: number;
  readonly reason: string;
}

export interface Backlog {
  /** Deliveries not settled yet, waiting for a retry included. */
  readonly waiting: number;
  /** How long the oldest due one has been waiting for a free place, ms. */
  readonly oldestDueMs: number;
}

type TriggerRow = Pick<
  Selectable<GuardrailTriggersTable>,
  | 'rule_version'
  | 'rule_name'
  | 'run_id'
  | 'event_id'
  | 'condition_type'
  | 'condition_value'
  | 'condition_threshold'
  | 'dry_run'
  | 'cooldown_minutes'
  | 'message'
>;
type ClaimedRow = Selectable<DeliveriesTable> & { [K in keyof TriggerRow]: TriggerRow[K] | null };

/** The queue side of `deliveries`: who works on what, and until when. */
export class DeliveriesRepository {
  constructor(private readonly db: Kysely<Tables>) {}

  /** Takes due deliveries, oldest first, that nobody holds; replicas never get the same one while its lease lasts. */
  async claim({ limit, now, leaseId, leaseMs, lane, busy }: Claim): Promise<ClaimedDelivery[]> {
    const at = new Date(now).toISOString();
    const until = new Date(now + leaseMs).toISOString();
    const { destinations, tenants } = busy;
    const { rows } = await sql<ClaimedRow>`
      with due as (
        select tenant_id, delivery_id, triggered_at, trigger_id
        from deliveries
        where next_attempt_at <= ${at}
          and (lease_until is null or lease_until <= ${at})
          and (destination is null) = ${lane === 'internal'}
          and tenant_id <> all (${[...tenants]}::text[])
          and not exists (
            select from unnest(${destinations.map(({ tenantId }) => tenantId)}::text[], ${destinations.map(({ id }) => id)}::text[])
              as busy (tenant_id, destination)
            where busy.tenant_id = deliveries.tenant_id and busy.destination = deliveries.destination
          )
        order by next_attempt_at
        limit ${limit}
        for update skip locked
      )
      update deliveries d
      set lease_id = ${leaseId}, lease_until = ${until}
      from due
      left join guardrail_triggers t
        on t.tenant_id = due.tenant_id and t.triggered_at = due.triggered_at and t.trigger_id = due.trigger_id
      where d.tenant_id = due.tenant_id and d.delivery_id = due.delivery_id
      returning d.*, t.rule_version, t.rule_name, t.run_id, t.event_id, t.condition_type, t.condition_value,
        t.condition_threshold, t.dry_run, t.cooldown_minutes, t.message
    `.execute(this.db);
    return Promise.all(rows.map(async (row) => claimed(await this.#withTrigger(row), leaseId)));
  }

  /**
   * A partition attached between planning and running of the claim is not in its plan, and the rows moved into it are in
   * no other: what looks like a dropped trigger is asked for once more, by a statement that is planned now.
   */
  async #withTrigger(row: ClaimedRow): Promise<ClaimedRow> {
    if (row.rule_version !== null) return row;
    const trigger = await this.db
      .selectFrom('guardrail_triggers')
      .select([
        ...(['rule_version', 'rule_name', 'run_id', 'event_id', 'condition_type', 'condition_value'] as const),
        ...(['condition_threshold', 'dry_run', 'cooldown_minutes', 'message'] as const),
      ])
      .where('tenant_id', '=', row.tenant_id)
      .where('triggered_at', '=', row.triggered_at)
      .where('trigger_id', '=', row.trigger_id)
      .executeTakeFirst();
    return trigger === undefined ? row : { ...row, ...trigger };
  }

  /** Gives back deliveries that were claimed and not begun. */
  async release(deliveries: readonly ClaimedDelivery[]): Promise<void> {
    for (const { tenantId, deliveryId, leaseId } of deliveries) {
      await this.db
        .updateTable('deliveries')
        .set({ lease_id: null, lease_until: null })
        .where('tenant_id', '=', tenantId)
        .where('delivery_id', '=', deliveryId)
        .where('lease_id', '=', leaseId)
        .execute();
    }
  }

  /**
   * Not now, and no attempt was made: due again when its destination may be called again. Everything else that is due
   * there and that nobody holds goes with it, so that a long queue costs one statement and not one claim each.
   */
  async defer(delivery: ClaimedDelivery, { now, untilMs, reason }: Deferral): Promise<void> {
    const { tenantId, deliveryId, leaseId, destination } = delivery;
    const at = new Date(now).toISOString();
    await sql`
      with resting as (
        select delivery_id from deliveries
        where tenant_id = ${tenantId} and destination = ${destination?.id ?? null} and next_attempt_at <= ${at}
          and (lease_until is null or lease_until <= ${at})
        for update skip locked
      )
      update deliveries
      set next_attempt_at = ${new Date(untilMs).toISOString()}, detail = ${reason}, lease_id = null, lease_until = null
      where tenant_id = ${tenantId}
        and ((delivery_id = ${deliveryId} and lease_id = ${leaseId}) or delivery_id in (select delivery_id from resting))
    `.execute(this.db);
  }

  async backlog(now: number): Promise<Backlog> {
    const { waiting, oldest } = await this.db
      .selectFrom('deliveries')
      .select(({ fn }) => [fn.countAll<number>().as('waiting'), fn.min('next_attempt_at').as('oldest')])
      .where('next_attempt_at', 'is not', null)
      .executeTakeFirstOrThrow();
    return { waiting: Number(waiting), oldestDueMs: oldest === null ? 0 : Math.max(0, now - Date.parse(oldest)) };
  }
}

function claimed(row: ClaimedRow, leaseId: string): ClaimedDelivery {
  return {
    tenantId: row.tenant_id,
    deliveryId: row.delivery_id,
    triggerId: row.trigger_id,
    triggeredAt: row.triggered_at,
    ruleId: row.rule_id,
    agentId: row.agent_id,
    leaseId,
    attempts: row.attempts,
    createdAt: row.created_at,
    actionType: row.action_type,
    actionConfig: row.action_config as JsonObject,
    destination: row.destination === null ? null : { tenantId: row.tenant_id, id: row.destination },
    traceparent: row.traceparent,
    trigger: triggerOf(row),
  };
}

function triggerOf(row: ClaimedRow): Trigger | null {
  if (row.rule_version === null || row.rule_name === null || row.condition_type === null) return null;
  return {
    id: row.trigger_id,
    tenantId: row.tenant_id,
    ruleId: row.rule_id,
    ruleVersion: row.rule_version,
    ruleName: row.rule_name,
    agentId: row.agent_id,
    runId: row.run_id ?? undefined,
    eventId: row.event_id ?? undefined,
    conditionType: row.condition_type,
    conditionValue: row.condition_value ?? 0,
    conditionThreshold: row.condition_threshold ?? 0,
    actionType: row.action_type,
    cooldownMinutes: row.cooldown_minutes ?? 0,
    dryRun: row.dry_run ?? false,
    message: row.message ?? '',
    triggeredAt: row.triggered_at,
  };
}
