import type { JsonObject, Trigger } from '@agentlens/contracts';
import type { DeliveriesTable, GuardrailTriggersTable, Tables } from '@agentlens/database';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { Room } from './capacity.ts';
import type { ClaimedDelivery, Lane } from './claimed-delivery.ts';
import { PAGE_ATTEMPTS } from './retry-schedule.ts';

export interface Claim {
  readonly limit: number;
  readonly now: number;
  readonly leaseId: string;
  readonly leaseMs: number;
  /** Deliveries with or without an outbound request. */
  readonly lane: Lane;
  /** Capacity of destinations and tenants; deliveries without capacity are not claimed. */
  readonly room: Room;
}

interface Deferral {
  readonly now: number;
  readonly untilMs: number;
  readonly reason: string;
}

export interface Backlog {
  /** Unsettled deliveries, including those that wait for a retry. */
  readonly waiting: number;
  /** How long the oldest due delivery has waited, ms. */
  readonly oldestDueMs: number;
}

/** The claim scans this multiple of the capacity. */
const LOOK_AHEAD = 2;

type TriggerRow = Pick<
  Selectable<GuardrailTriggersTable>,
  | 'rule_version'
  | 'rule_name'
  | 'run_id'
  | 'event_id'
  | 'condition_type'
  | 'condition_value'
  | 'condition_threshold'
  | 'comparison'
  | 'dry_run'
  | 'cooldown_minutes'
  | 'message'
>;
type ClaimedRow = Selectable<DeliveriesTable> & { [K in keyof TriggerRow]: TriggerRow[K] | null } & {
  readonly disabled: string | null;
  readonly prior: string | null;
};

/** Queue side of `deliveries`: leases. */
export class DeliveriesRepository {
  constructor(private readonly db: Kysely<Tables>) {}

  /**
   * Claims due deliveries that are not leased, oldest first, within the capacity of tenants and destinations. A
   * delivery goes to one replica while its lease lasts.
   */
  async claim({ limit, now, leaseId, leaseMs, lane, room }: Claim): Promise<ClaimedDelivery[]> {
    const at = new Date(now).toISOString();
    const until = new Date(now + leaseMs).toISOString();
    const { destinations, tenants, perDestination, perTenant } = room;
    const { rows } = await sql<ClaimedRow>`
      with held_destinations as materialized (
        select * from unnest(
          ${destinations.map(({ destination }) => destination.tenantId)}::text[],
          ${destinations.map(({ destination }) => destination.id)}::text[],
          ${destinations.map(({ free }) => free)}::int[]
        ) as held (tenant_id, destination, free)
      ), held_tenants as materialized (
        select * from unnest(
          ${tenants.map(({ tenantId }) => tenantId)}::text[],
          ${tenants.map(({ free }) => free)}::int[]
        ) as held (tenant_id, free)
      ), waiting as (
        select tenant_id, delivery_id, destination, next_attempt_at
        from deliveries d
        where next_attempt_at <= ${at}
          and (lease_until is null or lease_until <= ${at})
          and (destination is null) = ${lane === 'internal'}
          -- What comes before it for the same message is settled first, unless it has failed for as long as a page does.
          and (order_key is null or not exists (
            select from deliveries o
            where o.tenant_id = d.tenant_id and o.order_key = d.order_key and o.order_n < d.order_n and o.settled_at is null
              and o.attempts < ${PAGE_ATTEMPTS}
          ))
          and not exists (select from held_tenants h where h.tenant_id = d.tenant_id and h.free <= 0)
          and not exists (
            select from held_destinations h
            where h.tenant_id = d.tenant_id and h.destination = d.destination and h.free <= 0
          )
        order by next_attempt_at
        limit ${limit * LOOK_AHEAD}
      ), placed as (
        select w.tenant_id, w.delivery_id, w.next_attempt_at
        from (
          select *,
            row_number() over (partition by tenant_id, destination order by next_attempt_at, delivery_id) as of_destination,
            row_number() over (partition by tenant_id order by next_attempt_at, delivery_id) as of_tenant
          from waiting
        ) w
        left join held_destinations hd on hd.tenant_id = w.tenant_id and hd.destination = w.destination
        left join held_tenants ht on ht.tenant_id = w.tenant_id
        where (w.destination is null or w.of_destination <= coalesce(hd.free, ${perDestination}))
          and w.of_tenant <= coalesce(ht.free, ${perTenant})
        order by w.next_attempt_at
        limit ${limit}
      ), due as (
        select d.tenant_id, d.delivery_id, d.triggered_at, d.trigger_id, d.destination
        from deliveries d join placed p on p.tenant_id = d.tenant_id and p.delivery_id = d.delivery_id
        where d.next_attempt_at <= ${at} and (d.lease_until is null or d.lease_until <= ${at})
        for update of d skip locked
      )
      update deliveries d
      set lease_id = ${leaseId}, lease_until = ${until}
      from due
      left join guardrail_triggers t
        on t.tenant_id = due.tenant_id and t.triggered_at = due.triggered_at and t.trigger_id = due.trigger_id
      left join destinations x
        on x.tenant_id = due.tenant_id and x.destination = due.destination and x.disabled_at is not null
      where d.tenant_id = due.tenant_id and d.delivery_id = due.delivery_id
      returning d.*, t.rule_version, t.rule_name, t.run_id, t.event_id, t.condition_type, t.condition_value,
        t.condition_threshold, t.comparison, t.dry_run, t.cooldown_minutes, t.message,
        case when x.destination is not null then coalesce(x.disabled_reason, 'no reason given') end as disabled,
        case when d.order_key is not null then (
          select o.receipt from deliveries o
          where o.tenant_id = d.tenant_id and o.order_key = d.order_key and o.order_n < d.order_n and o.receipt is not null
          order by o.order_n desc limit 1
        ) end as prior
    `.execute(this.db);
    return Promise.all(rows.map(async (row) => claimed(await this.#withTrigger(row), leaseId)));
  }

  /**
   * Reads a missing trigger again. A partition that is attached between planning and execution of the claim is not in
   * its plan, so a trigger that was moved into it looks deleted.
   */
  async #withTrigger(row: ClaimedRow): Promise<ClaimedRow> {
    // What is sent to a channel has no trigger.
    if (row.rule_version !== null || row.channel_id !== null) return row;
    const trigger = await this.db
      .selectFrom('guardrail_triggers')
      .select([
        ...(['rule_version', 'rule_name', 'run_id', 'event_id', 'condition_type', 'condition_value'] as const),
        ...(['condition_threshold', 'comparison', 'dry_run', 'cooldown_minutes', 'message'] as const),
      ])
      .where('tenant_id', '=', row.tenant_id)
      .where('triggered_at', '=', row.triggered_at)
      .where('trigger_id', '=', row.trigger_id)
      .executeTakeFirst();
    return trigger === undefined ? row : { ...row, ...trigger };
  }

  /** Releases claimed deliveries that were not started. */
  async release(deliveries: readonly ClaimedDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    await sql`
      update deliveries d
      set lease_id = null, lease_until = null
      from unnest(
        ${deliveries.map(({ tenantId }) => tenantId)}::text[],
        ${deliveries.map(({ deliveryId }) => deliveryId)}::text[],
        ${deliveries.map(({ leaseId }) => leaseId)}::text[]
      ) as given (tenant_id, delivery_id, lease_id)
      where d.tenant_id = given.tenant_id and d.delivery_id = given.delivery_id and d.lease_id = given.lease_id
    `.execute(this.db);
  }

  /**
   * Postpones deliveries without using an attempt. All other due deliveries to the destination that are not leased are
   * postponed with them, so a long queue costs one statement.
   *
   * @param deliveries of one destination, at least one
   */
  async defer(deliveries: readonly ClaimedDelivery[], { now, untilMs, reason }: Deferral): Promise<void> {
    const [first] = deliveries;
    if (first === undefined) return;
    const { tenantId, destination } = first;
    const at = new Date(now).toISOString();
    await sql`
      with resting as (
        select delivery_id from deliveries
        where tenant_id = ${tenantId} and destination = ${destination?.id ?? null} and next_attempt_at <= ${at}
          and (lease_until is null or lease_until <= ${at})
        for update skip locked
      ), picked as (
        select delivery_id, null as lease_id from resting
        union all
        select * from unnest(
          ${deliveries.map(({ deliveryId }) => deliveryId)}::text[],
          ${deliveries.map(({ leaseId }) => leaseId)}::text[]
        )
      )
      update deliveries d
      set next_attempt_at = ${new Date(untilMs).toISOString()}, detail = ${reason}, lease_id = null, lease_until = null
      from picked p
      where d.tenant_id = ${tenantId} and d.delivery_id = p.delivery_id
        and (p.lease_id is null or d.lease_id = p.lease_id)
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
    webhookId: row.webhook_id,
    disabled: row.disabled,
    traceparent: row.traceparent,
    prior: row.prior ?? undefined,
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
    comparison: row.comparison ?? undefined,
    actionType: row.action_type,
    cooldownMinutes: row.cooldown_minutes ?? 0,
    dryRun: row.dry_run ?? false,
    message: row.message ?? '',
    triggeredAt: row.triggered_at,
  };
}
