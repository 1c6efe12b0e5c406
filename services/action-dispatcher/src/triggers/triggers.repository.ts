import { type ActionResult, type DeliverySettled, deliverySettled, type Trigger } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import { sql, type Transaction } from 'kysely';
import { WRITER } from '../outbox/outbox.ts';
import { type Cooldown, coolingUntil, neighbourhood, type Past, triggerKey } from './cooldown.ts';

export interface Action {
  readonly type: string;
  readonly config: Record<string, unknown>;
}

/** A locked cooldown and the current action of its rule. */
interface Locked {
  readonly cooldown: Cooldown;
  /** Undefined if the rule is unknown. */
  readonly action: Action | undefined;
}

/** All rows to write for one trigger. */
export interface Entry {
  readonly trigger: Trigger;
  readonly result: ActionResult;
  readonly detail?: string;
  /** The trigger starts a cooldown. */
  readonly effective: boolean;
  /** The rule's current action, to be carried out. */
  readonly delivery?: NewDelivery;
  /** Published if nothing remains to be done. */
  readonly fact?: DeliverySettled;
}

interface NewDelivery {
  readonly deliveryId: string;
  readonly action: Action;
  readonly destination: string | null;
  readonly traceparent: string | null;
  /** Set if this process carries it out at once. */
  readonly lease: { readonly id: string; readonly until: string } | null;
}

/** Result of writing an entry; duplicates are left out. */
export interface Written {
  readonly tenant_id: string;
  readonly trigger_id: string;
  /** A webhook endpoint of the tenant listens to triggers. */
  readonly wanted: boolean;
  /** Why the destination is disabled; null if it is enabled. */
  readonly disabled: string | null;
}

interface LockedRow {
  readonly trigger_id: string;
  readonly last_triggered_at: string;
  readonly cooling_until: string;
  readonly trigger_count: number;
  readonly rearmed_at: string | null;
  readonly action_type: string | null;
  readonly action_config: Record<string, unknown> | null;
}

/**
 * Locks the rows of rule, agent and mode in a fixed order; creates missing ones.
 *
 * @param triggers one per key
 * @returns in the order of the triggers
 */
export async function lockCooldowns(tx: Transaction<Tables>, triggers: readonly Trigger[]): Promise<Locked[]> {
  const wanted = triggers.map(({ tenantId, ruleId, agentId, dryRun, id, triggeredAt }, n) => ({
    ...{ n, tenant_id: tenantId, rule_id: ruleId, agent_id: agentId, dry_run: dryRun },
    ...{ trigger_id: id, triggered_at: triggeredAt },
  }));
  const { rows } = await sql<LockedRow>`
    with wanted as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb)
        as w (n int, tenant_id text, rule_id text, agent_id text, dry_run boolean, trigger_id text, triggered_at timestamptz)
    ), locked as (
      insert into trigger_cooldowns as c
        (tenant_id, rule_id, agent_id, dry_run, trigger_id, last_triggered_at, cooling_until, trigger_count)
      select tenant_id, rule_id, agent_id, dry_run, trigger_id, triggered_at, triggered_at, 0 from wanted
      order by tenant_id, rule_id, agent_id, dry_run
      on conflict (tenant_id, rule_id, agent_id, dry_run) do update set trigger_count = c.trigger_count
      returning *
    )
    select l.trigger_id, l.last_triggered_at, l.cooling_until, l.trigger_count, l.rearmed_at, r.action_type,
      r.action_config
    from wanted w
    join locked l using (tenant_id, rule_id, agent_id, dry_run)
    left join guardrail_rules r using (tenant_id, rule_id)
    order by w.n
  `.execute(tx);
  return rows.map((row) => ({
    cooldown: {
      triggerId: row.trigger_id,
      lastTriggeredAt: row.last_triggered_at,
      coolingUntil: row.cooling_until,
      count: row.trigger_count,
      rearmedAt: row.rearmed_at,
    },
    action: row.action_type === null ? undefined : { type: row.action_type, config: row.action_config ?? {} },
  }));
}

/**
 * The locks must be held: a statement sees what was committed before it started, not what it waited for.
 *
 * @param rearmedAt per trigger; null if its rule was never rearmed
 */
export async function readPast(
  tx: Transaction<Tables>,
  triggers: readonly Trigger[],
  rearmedAt: (trigger: Trigger) => string | null,
): Promise<Past> {
  if (triggers.length === 0) return { known: new Set(), besideEffective: new Set() };
  const wanted = triggers.map((trigger) => ({
    ...{ tenant_id: trigger.tenantId, rule_id: trigger.ruleId, agent_id: trigger.agentId, dry_run: trigger.dryRun },
    ...{ trigger_id: trigger.id, triggered_at: trigger.triggeredAt, ...neighbourhood(trigger) },
    rearmed_at: rearmedAt(trigger),
  }));
  const { rows } = await sql<{ tenant_id: string; trigger_id: string; known: boolean; beside: boolean }>`
    select w.tenant_id, w.trigger_id,
      exists (
        select from guardrail_triggers t
        where t.tenant_id = w.tenant_id and t.triggered_at = w.triggered_at and t.trigger_id = w.trigger_id
      ) as known,
      exists (
        select from guardrail_triggers t
        where t.tenant_id = w.tenant_id and t.rule_id = w.rule_id and t.agent_id = w.agent_id and t.dry_run = w.dry_run
          and t.action_result <> 'cooldown' and t.trigger_id <> w.trigger_id
          and t.triggered_at > w."from" and t.triggered_at < w."to"
          and t.triggered_at >= coalesce(w.rearmed_at, '-infinity')
      ) as beside
    from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as w (
      tenant_id text, rule_id text, agent_id text, dry_run boolean, trigger_id text, triggered_at timestamptz,
      "from" timestamptz, "to" timestamptz, rearmed_at timestamptz
    )
  `.execute(tx);
  const keyOf = (row: (typeof rows)[number]) => triggerKey({ tenantId: row.tenant_id, id: row.trigger_id });
  return {
    known: new Set(rows.filter(({ known }) => known).map(keyOf)),
    besideEffective: new Set(rows.filter(({ beside }) => beside).map(keyOf)),
  };
}

/** Writes history, deliveries, cooldowns and facts in one statement; skips duplicates. */
export async function writeEntries(tx: Transaction<Tables>, entries: readonly Entry[], at: string): Promise<Written[]> {
  if (entries.length === 0) return [];
  const { rows } = await sql<Written>`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(entries.map(rowOf))}::jsonb) as g (
        n int, tenant_id text, triggered_at timestamptz, trigger_id text, rule_id text, rule_version int, rule_name text,
        agent_id text, run_id text, event_id text, condition_type text, condition_value double precision,
        condition_threshold double precision, comparison text, action_type text, message text, dry_run boolean,
        cooldown_minutes int, action_result text, action_detail text, settled boolean, effective boolean, cooling_until timestamptz,
        delivery_id text, action_config jsonb, destination text, traceparent text, lease_id text, lease_until timestamptz,
        fact jsonb
      )
    ), recorded as (
      insert into guardrail_triggers (tenant_id, triggered_at, trigger_id, rule_id, rule_version, rule_name, agent_id,
        run_id, event_id, condition_type, condition_value, condition_threshold, comparison, action_type, message,
        dry_run, cooldown_minutes, action_result, action_detail, settled_at)
      select tenant_id, triggered_at, trigger_id, rule_id, rule_version, rule_name, agent_id, run_id, event_id,
        condition_type, condition_value, condition_threshold, comparison, action_type, message, dry_run,
        cooldown_minutes, action_result, action_detail, case when settled then ${at}::timestamptz end
      from given
      on conflict (tenant_id, triggered_at, trigger_id) do nothing
      returning tenant_id, trigger_id
    ), fresh as materialized (
      select g.* from given g join recorded using (tenant_id, trigger_id)
    ), queued as (
      insert into deliveries (tenant_id, delivery_id, trigger_id, triggered_at, rule_id, agent_id, action_type,
        action_config, destination, traceparent, result, next_attempt_at, lease_until, lease_id, created_at)
      select tenant_id, delivery_id, trigger_id, triggered_at, rule_id, agent_id, action_type, action_config, destination,
        traceparent, 'pending', ${at}::timestamptz, lease_until, lease_id, ${at}::timestamptz
      from fresh where delivery_id is not null
    ), cooled as (
      update trigger_cooldowns c
      set trigger_count = c.trigger_count + s.effective,
        trigger_id = case when c.last_triggered_at <= s.newest then s.trigger_id else c.trigger_id end,
        last_triggered_at = greatest(c.last_triggered_at, s.newest),
        cooling_until = greatest(c.cooling_until, s.cooling_until)
      from (
        select tenant_id, rule_id, agent_id, dry_run, count(*) as effective, max(triggered_at) as newest,
          max(cooling_until) as cooling_until, (array_agg(trigger_id order by triggered_at desc, n desc))[1] as trigger_id
        from fresh where effective
        group by tenant_id, rule_id, agent_id, dry_run
      ) s
      where c.tenant_id = s.tenant_id and c.rule_id = s.rule_id and c.agent_id = s.agent_id and c.dry_run = s.dry_run
    ), published as (
      insert into outbox (writer, topic, body, created_at)
      select ${WRITER}::text, ${deliverySettled.name}::text, fact, ${at}::timestamptz
      from fresh where fact is not null
      order by n
    )
    select f.tenant_id, f.trigger_id,
      exists (
        select from webhook_endpoints w where w.tenant_id = f.tenant_id and w.enabled and w.events @> '{triggers}'
      ) as wanted,
      case when d.disabled_at is not null then coalesce(d.disabled_reason, 'no reason given') end as disabled
    from fresh f
    left join destinations d on d.tenant_id = f.tenant_id and d.destination = f.destination
  `.execute(tx);
  return rows;
}

function rowOf({ trigger, result, detail, effective, delivery, fact }: Entry, n: number) {
  return {
    n,
    tenant_id: trigger.tenantId,
    triggered_at: trigger.triggeredAt,
    trigger_id: trigger.id,
    rule_id: trigger.ruleId,
    rule_version: trigger.ruleVersion,
    rule_name: trigger.ruleName,
    agent_id: trigger.agentId,
    run_id: trigger.runId,
    event_id: trigger.eventId,
    condition_type: trigger.conditionType,
    condition_value: trigger.conditionValue,
    condition_threshold: trigger.conditionThreshold,
    comparison: trigger.comparison,
    action_type: delivery?.action.type ?? trigger.actionType,
    message: trigger.message,
    dry_run: trigger.dryRun,
    cooldown_minutes: trigger.cooldownMinutes,
    action_result: result,
    action_detail: detail,
    settled: delivery === undefined,
    effective,
    cooling_until: coolingUntil(trigger),
    delivery_id: delivery?.deliveryId,
    action_config: delivery?.action.config,
    destination: delivery?.destination,
    traceparent: delivery?.traceparent,
    lease_id: delivery?.lease?.id,
    lease_until: delivery?.lease?.until,
    fact,
  };
}
