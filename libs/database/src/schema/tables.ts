import type { ColumnType, Generated, JSONColumnType } from 'kysely';

/**
 * Row types as `pg` returns them with our type parsers: timestamptz as ISO text with milliseconds and `Z`, bigint and
 * numeric as number (counts and USD stay far below 2^53), date as `YYYY-MM-DD`.
 */
export type Timestamp = ColumnType<string, string, string>;
/** Any JSON value, also a bare text or number. */
type AnyJson = ColumnType<unknown, string | null | undefined, string | null>;
type NullableJson = ColumnType<Record<string, unknown> | null, string | null | undefined, string | null>;
type Json = JSONColumnType<Record<string, unknown>, string, string>;

/** Writer: query. */
export interface TenantsTable {
  id: string;
  name: string;
  created_at: Timestamp;
  decision_fail_mode: Generated<'allow' | 'block'>;
}

/** Writer: query (ingest touches last_used_at through it). */
export interface ApiKeysTable {
  tenant_id: string;
  key_id: string;
  name: string;
  secret_hash: Buffer;
  scopes: string[];
  events_per_second: number | null;
  created_at: Timestamp;
  last_used_at: Timestamp | null;
  expires_at: Timestamp | null;
  revoked_at: Timestamp | null;
}

/** Writer: run-tracking. */
export interface AgentsTable {
  tenant_id: string;
  agent_id: string;
  name: string | null;
  description: string | null;
  first_seen_at: Timestamp;
  last_seen_at: Timestamp;
  slug: Generated<string | null>;
  tags: Generated<string[]>;
  tools: ColumnType<unknown[], string | undefined, string>;
  run_count: number;
  event_count: number;
  error_count: number;
  cost_usd: number;
  /** Of the event that named the agent last. */
  name_place: Generated<string | null>;
  description_place: Generated<string | null>;
  tags_place: Generated<string | null>;
  tool_places: ColumnType<Record<string, string>, string | undefined, string>;
}

/** Writer: run-tracking. */
export interface RunsTable {
  tenant_id: string;
  run_id: string;
  agent_id: string;
  agent_name: string | null;
  session_id: string | null;
  parent_run_id: string | null;
  parent_tool_use_id: string | null;
  status: 'running' | 'succeeded' | 'failed' | 'timed_out' | 'cancelled' | 'interrupted' | 'lost';
  model: string | null;
  provider: string | null;
  started_at: Timestamp;
  last_event_at: Timestamp;
  ended_at: Timestamp | null;
  event_count: number;
  error_count: number;
  tool_call_count: number;
  tool_error_count: number;
  llm_call_count: number;
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  cost_usd: number;
  unpriced_count: number;
  tags: string[];
  updated_at: Timestamp;
  step_count: Generated<number>;
  actor_id: Generated<string | null>;
  actor: NullableJson;
  run_tags: ColumnType<Record<string, string>, string | undefined, string>;
  ttl_ms: Generated<number | null>;
  heartbeat_at: ColumnType<string | null, string | null | undefined, string | null>;
  heartbeat_every_ms: Generated<number | null>;
  result: AnyJson;
  error_message: Generated<string | null>;
  cache_read_tokens: Generated<number>;
  cache_write_tokens: Generated<number>;
  /** `<occurred_at>/<event_id>` of the event that decided agent, name, model and end: what makes updates commutative. */
  first_place: Generated<string | null>;
  name_place: Generated<string | null>;
  model_place: Generated<string | null>;
  end_place: Generated<string | null>;
  actor_place: Generated<string | null>;
  result_place: Generated<string | null>;
  error_place: Generated<string | null>;
  /** When the platform first heard of the run, by the database's clock; `updated_at`: when it last stored events of it. */
  created_at: Generated<string>;
  /** What the row's previous version added to `agent_daily`; the statement that changes a run takes it back. */
  was: NullableJson;
}

/** Writer: run-tracking. Partitioned by UTC day of `occurred_at`. */
export interface EventsTable {
  tenant_id: string;
  occurred_at: Timestamp;
  event_id: string;
  run_id: string;
  agent_id: string;
  session_id: string | null;
  kind: string;
  dialect: string;
  source_type: string;
  severity: string;
  is_error: boolean;
  tool_name: string | null;
  call_id: string | null;
  model: string | null;
  provider: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  total_tokens: number | null;
  cost_usd: number | null;
  cost_source: string | null;
  latency_ms: number | null;
  tags: string[];
  payload: Json;
  metadata: Json;
  hash: string;
  received_at: Timestamp;
}

/**
 * Writer: run-tracking. Counts by UTC day of the event; run_* columns by UTC day the run started. A run counts in
 * `run_error_count` if it failed or holds an error, in `run_succeeded_count` if it succeeded or was ended on purpose.
 */
export interface AgentDailyTable {
  tenant_id: string;
  agent_id: string;
  day: string;
  event_count: number;
  error_count: number;
  tool_call_count: number;
  tool_error_count: number;
  llm_call_count: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  run_count: number;
  run_error_count: number;
  run_succeeded_count: number;
  run_duration_ms: number;
  run_cost_usd: number;
}

/** Writer: guardrail-evaluator. Deleted rules stay, marked, for the deliveries that still refer to them. */
export interface GuardrailRulesTable {
  tenant_id: string;
  rule_id: string;
  version: number;
  name: string;
  description: string | null;
  enabled: boolean;
  condition_type: string;
  condition_config: Json;
  action_type: string;
  /** Secrets inside are sealed (AES-256-GCM); see SecretBox. */
  action_config: Json;
  agent_id: string | null;
  cooldown_minutes: number;
  dry_run: boolean;
  direction: 'input' | 'output' | 'both';
  tool_names: string[] | null;
  priority: number;
  created_at: Timestamp;
  updated_at: Timestamp;
  deleted_at: Timestamp | null;
  mode: Generated<'enforce' | 'shadow' | 'off'>;
  on_missing: Generated<'allow' | 'block'>;
  on_unavailable: Generated<'allow' | 'block'>;
  selector: NullableJson;
  policy_id: Generated<string | null>;
}

/** Writer: guardrail-evaluator. */
export interface GuardrailStatesTable {
  tenant_id: string;
  rule_id: string;
  agent_id: string;
  last_evaluated_at: Timestamp;
  current_value: number | null;
  degraded_reason: string | null;
}

/** Writer: action-dispatcher. Partitioned by month of `triggered_at`. */
export interface GuardrailTriggersTable {
  tenant_id: string;
  triggered_at: Timestamp;
  trigger_id: string;
  rule_id: string;
  rule_version: number;
  rule_name: string;
  agent_id: string;
  run_id: string | null;
  event_id: string | null;
  condition_type: string;
  condition_value: number;
  condition_threshold: number;
  action_type: string;
  message: string;
  dry_run: boolean;
  cooldown_minutes: Generated<number>;
  action_result: 'pending' | 'retrying' | 'success' | 'failed' | 'dry_run' | 'cooldown';
  action_detail: string | null;
  settled_at: Timestamp | null;
}

/** Writer: action-dispatcher. */
export interface TriggerCooldownsTable {
  tenant_id: string;
  rule_id: string;
  agent_id: string;
  dry_run: boolean;
  trigger_id: string;
  last_triggered_at: Timestamp;
  cooling_until: Timestamp;
  trigger_count: number;
}

/** Writer: action-dispatcher. `next_attempt_at` is null once the delivery is settled. */
export interface DeliveriesTable {
  tenant_id: string;
  delivery_id: string;
  trigger_id: string;
  triggered_at: Timestamp;
  rule_id: string;
  agent_id: string;
  action_type: string;
  action_config: Json;
  destination: string | null;
  traceparent: string | null;
  result: 'pending' | 'retrying' | 'success' | 'failed' | 'dry_run' | 'cooldown';
  attempts: Generated<number>;
  next_attempt_at: Timestamp | null;
  lease_until: Timestamp | null;
  lease_id: string | null;
  detail: string | null;
  created_at: Timestamp;
  settled_at: Timestamp | null;
}

/** Writer: action-dispatcher. */
export interface DeliveryAttemptsTable {
  tenant_id: string;
  delivery_id: string;
  attempt: number;
  started_at: Timestamp;
  finished_at: Timestamp;
  outcome: 'delivered' | 'retry' | 'rejected';
  http_status: number | null;
  detail: string | null;
}

/** Writer: action-dispatcher. */
export interface DestinationsTable {
  tenant_id: string;
  destination: string;
  label: string;
  disabled_at: Timestamp | null;
  disabled_reason: string | null;
}

/** Writer: action-dispatcher. */
export interface AgentDirectivesTable {
  tenant_id: string;
  agent_id: string;
  directive_id: string;
  version: number;
  paused_at: Timestamp | null;
  pause_reason: string | null;
  pause_trigger_id: string | null;
  model_override: string | null;
  model_override_at: Timestamp | null;
  model_override_reason: string | null;
  model_override_trigger_id: string | null;
  issued_at: Timestamp;
}

/**
 * Writer: run-tracking. What ingest put into the stream in one minute of arrival, and what was found stored and
 * evaluated of it.
 */
export interface AuditMinutesTable {
  tenant_id: string;
  minute: Timestamp;
  accepted: number;
  first_sequence: number;
  last_sequence: number;
  /** When the auditor last read a message of it. */
  seen_at: Timestamp;
  state: Generated<'open' | 'equal' | 'differs'>;
  stored: number | null;
  evaluated: number | null;
  not_stored: Generated<number>;
  not_evaluated: Generated<number>;
  judged_at: Timestamp | null;
}

/** Writer: run-tracking. One row: how far the auditor has read the stream. */
export interface AuditPositionTable {
  id: Generated<boolean>;
  sequence: number;
  read_at: Timestamp;
}

/** Writer: whoever makes the fact true; `writer` names its relay. */
export interface OutboxTable {
  id: Generated<number>;
  writer: string;
  topic: string;
  body: Json;
  created_at: Timestamp;
}

/** Writer: run-tracking, from decision.decided. */
export interface DecisionsTable {
  tenant_id: string;
  decision_id: string;
  run_id: string;
  agent_id: string;
  phase: string;
  tool_name: string | null;
  call_id: string | null;
  verdict: string;
  control: string;
  effect: string;
  cause: Json;
  message: string;
  evaluated_rules: ColumnType<unknown[], string, string>;
  final_rule_id: string | null;
  approval_id: string | null;
  bypasses: ColumnType<unknown[], string, string>;
  inputs_digest: string;
  latency_ms: number;
  decided_at: Timestamp;
}

/** Writer: action-dispatcher. */
export interface AlertsTable {
  tenant_id: string;
  alert_id: string;
  kind: 'approval' | 'breaker' | 'rule';
  status: 'pending' | 'acknowledged' | 'approved' | 'denied' | 'expired' | 'cancelled';
  severity: 'info' | 'warn' | 'error' | 'critical';
  title: string;
  message: string;
  agent_id: string;
  run_id: string | null;
  rule_id: string | null;
  approval: NullableJson;
  binding: string | null;
  dedupe: string | null;
  created_at: Timestamp;
  expires_at: Timestamp | null;
  acknowledged_at: Timestamp | null;
  acknowledged_by: string | null;
  decided_at: Timestamp | null;
  decided_by: string | null;
  reason: string | null;
  used_at: Timestamp | null;
  suppressed: Generated<number>;
  version: number;
}

/** Writer: action-dispatcher. One standing order per run, agent or tenant. */
export interface ControlOrdersTable {
  tenant_id: string;
  scope: 'run' | 'agent' | 'tenant';
  scope_id: string;
  order_id: string;
  /** Of an order for a run: the run's agent, where it was known. */
  agent_id: string | null;
  state: 'running' | 'paused' | 'killed';
  reason: string;
  ordered_by: string;
  version: number;
  issued_at: Timestamp;
}

/** Writer: action-dispatcher. */
export interface ControlAcknowledgementsTable {
  tenant_id: string;
  directive_id: string;
  instance_id: string;
  agent_id: string;
  acknowledged_at: Timestamp;
}

/** Writer: guardrail-evaluator. The record of what Redis decides. */
export interface CircuitBreakersTable {
  tenant_id: string;
  scope: 'run' | 'agent';
  scope_id: string;
  agent_id: string;
  state: Json;
  version: number;
  changed_at: Timestamp;
}

/** Writer: guardrail-evaluator. The nearest scope wins: run, agent, tenant, the defaults. */
export interface BreakerLimitsTable {
  tenant_id: string;
  scope: 'tenant' | 'agent' | 'run';
  scope_id: string;
  limits: Json;
  updated_at: Timestamp;
}

/** Writer: guardrail-evaluator. */
export interface BudgetsTable {
  tenant_id: string;
  budget_id: string;
  name: string;
  scope: 'run' | 'session' | 'agent' | 'actor' | 'tenant';
  scope_id: string | null;
  period: 'total' | 'day' | 'week' | 'month';
  limit_usd: number;
  enabled: boolean;
  on_unavailable: 'allow' | 'block';
  version: number;
  created_at: Timestamp;
  updated_at: Timestamp;
  deleted_at: Timestamp | null;
}

/** Writer: guardrail-evaluator. */
export interface BudgetLedgerTable {
  tenant_id: string;
  budget_id: string;
  scope_id: string;
  period_start: string;
  reservation_id: string;
  estimate_usd: number;
  cost_usd: number;
  settled_at: Timestamp;
}

export interface Tables {
  audit_minutes: AuditMinutesTable;
  audit_position: AuditPositionTable;
  decisions: DecisionsTable;
  alerts: AlertsTable;
  control_orders: ControlOrdersTable;
  control_acknowledgements: ControlAcknowledgementsTable;
  circuit_breakers: CircuitBreakersTable;
  breaker_limits: BreakerLimitsTable;
  budgets: BudgetsTable;
  budget_ledger: BudgetLedgerTable;
  tenants: TenantsTable;
  api_keys: ApiKeysTable;
  agents: AgentsTable;
  runs: RunsTable;
  events: EventsTable;
  agent_daily: AgentDailyTable;
  guardrail_rules: GuardrailRulesTable;
  guardrail_states: GuardrailStatesTable;
  guardrail_triggers: GuardrailTriggersTable;
  trigger_cooldowns: TriggerCooldownsTable;
  deliveries: DeliveriesTable;
  delivery_attempts: DeliveryAttemptsTable;
  destinations: DestinationsTable;
  agent_directives: AgentDirectivesTable;
  outbox: OutboxTable;
}
