import type { Pool } from 'pg';
import type { HarnessRule } from '../harness/stack.ts';

/** Longer than any fault test except the soak, so that counts do not expire. */
export const WINDOW_MINUTES = 1_440;
/** Errors of an agent until its limit is reached. */
export const ERROR_LIMIT = 5;

const RULE_NAMES = { marker: 'fault: marker', counter: 'fault: counter', limit: 'fault: limit' } as const;

/** Fires at each marker event and at no other: its triggers are exactly the accepted markers. */
export function markerRule(url: string): HarnessRule {
  return {
    name: RULE_NAMES.marker,
    conditionType: 'custom_metric',
    conditionConfig: { metricKeyPath: 'data.marker', operator: 'gt', value: 0, windowMinutes: 60, aggregate: 'last' },
    actionType: 'notify_webhook',
    actionConfig: { url },
    cooldownMinutes: 0,
  };
}

/** Refuses calls of one tool. */
export function blockRule(tool: string): HarnessRule {
  return {
    ...{ name: `fault: no ${tool}`, conditionType: 'tool_name', conditionConfig: { value: tool } },
    ...{ actionType: 'block', actionConfig: {}, cooldownMinutes: 0 },
  };
}

/** Never fires. Its reading is the evaluator's count for an agent. */
export function counterRule(url: string): HarnessRule {
  return {
    name: RULE_NAMES.counter,
    conditionType: 'custom_metric',
    conditionConfig: { metricName: 'event_count', operator: 'gt', value: 1e15, windowMinutes: WINDOW_MINUTES },
    actionType: 'notify_webhook',
    actionConfig: { url },
    cooldownMinutes: 15,
  };
}

/** Matches every event of an agent from its fifth error on. Because of its cooldown, only one trigger is effective. */
export function limitRule(url: string): HarnessRule {
  return {
    name: RULE_NAMES.limit,
    conditionType: 'custom_metric',
    conditionConfig: {
      metricName: 'error_count',
      operator: 'gte',
      value: ERROR_LIMIT,
      windowMinutes: WINDOW_MINUTES,
    },
    actionType: 'notify_webhook',
    actionConfig: { url },
    cooldownMinutes: 1_440,
  };
}

/** What the platform recorded for the agents of one load. */
export interface OnRecord {
  readonly eventIds: readonly string[];
  readonly duplicateRows: number;
  readonly byAgent: ReadonlyMap<string, { readonly events: number; readonly errors: number }>;
  readonly runEvents: number;
  readonly markerEventIds: readonly string[];
  /** Agents, one entry for each effective trigger of the limit. */
  readonly limitAgents: readonly string[];
  readonly deliveries: readonly DeliveryRow[];
}

export interface DeliveryRow {
  readonly deliveryId: string;
  readonly triggerId: string;
  readonly result: string;
}

export async function recordOf(pool: Pool, label: string): Promise<OnRecord> {
  const like = [`${label}-agent-%`];
  const [events, agents, runs, triggers, deliveries] = await Promise.all([
    pool.query<{ event_id: string }>('select event_id from events where agent_id like $1', like),
    pool.query<{ agent_id: string; events: number; errors: number }>(
      'select agent_id, event_count::int as events, error_count::int as errors from agents where agent_id like $1',
      like,
    ),
    pool.query<{ events: number }>(
      'select coalesce(sum(event_count), 0)::int as events from runs where agent_id like $1',
      like,
    ),
    pool.query<{ rule_name: string; agent_id: string; event_id: string; action_result: string }>(
      'select rule_name, agent_id, event_id, action_result from guardrail_triggers where agent_id like $1',
      like,
    ),
    pool.query<{ delivery_id: string; trigger_id: string; result: string }>(
      'select delivery_id, trigger_id, result from deliveries where agent_id like $1',
      like,
    ),
  ]);
  const effective = triggers.rows.filter(({ action_result }) => action_result !== 'cooldown');
  const eventIds = events.rows.map((row) => row.event_id);
  return {
    eventIds,
    duplicateRows: eventIds.length - new Set(eventIds).size,
    byAgent: new Map(agents.rows.map((row) => [row.agent_id, { events: row.events, errors: row.errors }])),
    runEvents: runs.rows[0]?.events ?? 0,
    markerEventIds: effective
      .filter(({ rule_name }) => rule_name === RULE_NAMES.marker)
      .map((trigger) => trigger.event_id),
    limitAgents: effective.filter(({ rule_name }) => rule_name === RULE_NAMES.limit).map((trigger) => trigger.agent_id),
    deliveries: deliveries.rows.map((row) => ({
      deliveryId: row.delivery_id,
      triggerId: row.trigger_id,
      result: row.result,
    })),
  };
}

/** Cheap enough to poll. */
export async function countsOf(
  pool: Pool,
  label: string,
): Promise<{ readonly events: number; readonly triggers: number; readonly undelivered: number }> {
  const { rows } = await pool.query<{ events: number; triggers: number; undelivered: number }>(
    `select
       (select coalesce(sum(event_count), 0)::int from agents where agent_id like $1) as events,
       (select count(*)::int from guardrail_triggers where agent_id like $1) as triggers,
       (select count(*)::int from deliveries where agent_id like $1 and settled_at is null) as undelivered`,
    [`${label}-agent-%`],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('Postgres returned no row');
  return row;
}

/** The evaluator's last reading of each agent for one rule. */
export async function readingsOf(pool: Pool, label: string, ruleId: string): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ agent_id: string; current_value: number | null }>(
    'select agent_id, current_value from guardrail_states where agent_id like $1 and rule_id = $2',
    [`${label}-agent-%`, ruleId],
  );
  return new Map(rows.map((row) => [row.agent_id, row.current_value ?? Number.NaN]));
}
