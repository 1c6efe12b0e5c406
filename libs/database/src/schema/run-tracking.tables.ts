import type { ColumnType, Generated } from 'kysely';
import type { AnyJson, Json, NullableJson, Timestamp } from './columns.ts';

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
  /** Time of the event that last named the agent. */
  name_place: Generated<string | null>;
  description_place: Generated<string | null>;
  tags_place: Generated<string | null>;
  tool_places: ColumnType<Record<string, string>, string | undefined, string>;
}

/** Counters of events, for both runs and days. */
interface CountedColumns {
  event_count: number;
  error_count: number;
  tool_call_count: number;
  tool_error_count: number;
  llm_call_count: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
}

/** Writer: run-tracking. */
export interface RunsTable extends CountedColumns {
  tenant_id: string;
  run_id: string;
  agent_id: string;
  agent_name: string | null;
  session_id: string | null;
  parent_run_id: string | null;
  parent_tool_use_id: string | null;
  status: 'running' | 'succeeded' | 'failed' | 'timed_out' | 'cancelled' | 'interrupted' | 'lost' | 'killed';
  model: string | null;
  provider: string | null;
  started_at: Timestamp;
  last_event_at: Timestamp;
  ended_at: Timestamp | null;
  total_tokens: number;
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
  /** `<occurred_at>/<event_id>` of the event that set agent, name, model and end, so that updates are commutative. */
  first_place: Generated<string | null>;
  name_place: Generated<string | null>;
  model_place: Generated<string | null>;
  end_place: Generated<string | null>;
  /** When an order killed the run. `status` is then `killed`, even if the agent reports another end. */
  killed_at: Generated<string | null>;
  /** The decision of a rule that ended the run. A run that then reports success is `interrupted`. */
  ended_by: Generated<string | null>;
  /** How the run itself ended, and how the last agent inside it ended; `status` is derived from both. */
  end_status: Generated<string | null>;
  agent_end_status: Generated<string | null>;
  agent_end_place: Generated<string | null>;
  /** The event that named the parent. */
  parent_place: Generated<string | null>;
  actor_place: Generated<string | null>;
  result_place: Generated<string | null>;
  error_place: Generated<string | null>;
  /** First arrival of an event of the run, by the database's clock; `updated_at` is the last. */
  created_at: Generated<string>;
  /** What the previous version of the row added to `agent_daily`; the statement that changes a run subtracts it. */
  was: NullableJson;
}

/** Writer: run-tracking. Later events of these runs are dropped. */
export interface DeletedRunsTable {
  tenant_id: string;
  run_id: string;
  deleted_at: Generated<string>;
  /** When to check again for events that were in flight; null: never. */
  next_pass_at: ColumnType<string | null, string | null | undefined, string | null>;
}

/** Writer: run-tracking. */
export interface ErasuresTable {
  tenant_id: string;
  erasure_id: string;
  /** Null when nothing is left to remove. */
  actor_id: string | null;
  actor_digest: string;
  state: 'running' | 'finished';
  requested_at: Generated<string>;
  finished_at: ColumnType<string | null, string | null | undefined, string | null>;
  runs: Generated<number>;
  events: Generated<number>;
  author: NullableJson;
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
  /** Whether payload and metadata were removed, except for what totals and trees need. */
  content_expired: Generated<boolean | null>;
  /** Other kinds of tokens and how the cost was computed; null for other events and those before this column. */
  pricing: NullableJson;
}

/** Writer: run-tracking. Jobs that recalculate costs. */
export interface RepricesTable {
  tenant_id: string;
  reprice_id: string;
  request: Json;
  state: 'running' | 'finished' | 'failed';
  /** The last event that is done. */
  done_at: ColumnType<string | null, string | null | undefined, string | null>;
  done_event: ColumnType<string | null, string | null | undefined, string | null>;
  calls: Generated<number>;
  changed: Generated<number>;
  delta_usd: Generated<number>;
  by_model: ColumnType<Record<string, unknown>, string | undefined, string>;
  error: ColumnType<string | null, string | null | undefined, string | null>;
  author: NullableJson;
  started_at: Generated<string>;
  finished_at: ColumnType<string | null, string | null | undefined, string | null>;
}

/**
 * Writer: run-tracking. Counts by UTC day of the event; run_* columns by UTC day the run started. A run counts in
 * `run_error_count` if it failed or holds an error, in `run_succeeded_count` if it succeeded or was ended on purpose.
 */
export interface AgentDailyTable extends CountedColumns {
  tenant_id: string;
  agent_id: string;
  day: string;
  run_count: number;
  run_error_count: number;
  run_succeeded_count: number;
  run_duration_ms: number;
  run_cost_usd: number;
}

/**
 * Writer: run-tracking. Events that ingest published per minute of arrival, and how many of them were found stored and
 * evaluated.
 */
export interface AuditMinutesTable {
  tenant_id: string;
  minute: Timestamp;
  accepted: number;
  first_sequence: number;
  last_sequence: number;
  /** When the auditor last read a message of that minute. */
  seen_at: Timestamp;
  state: Generated<'open' | 'equal' | 'differs'>;
  stored: number | null;
  evaluated: number | null;
  not_stored: Generated<number>;
  not_evaluated: Generated<number>;
  judged_at: Timestamp | null;
}

/** Writer: run-tracking. A single row: the auditor's position in the stream. */
export interface AuditPositionTable {
  id: Generated<boolean>;
  sequence: number;
  read_at: Timestamp;
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
  reason: Generated<string | null>;
  budget_id: Generated<string | null>;
  /** Redacted. */
  arguments: AnyJson;
  arguments_cut: NullableJson;
  would_have: Generated<string | null>;
  /** The call still waits for the same approval as in an earlier decision, which stands for all. */
  asked_again: Generated<boolean>;
  decider: NullableJson;
  /** Tags of the tool that the agent sent with the call; null in decisions of earlier versions. */
  tool_tags: Generated<string[] | null>;
}

/** Writer: run-tracking, with the decisions it counts. */
export interface DecisionPathsTable {
  tenant_id: string;
  hour: Timestamp;
  path: 'gateway' | 'evaluator' | 'unanswered';
  asked: string;
  rule_id: string;
  decisions: number;
}

/** Writer: run-tracking. Counts by minute or hour of the event or decision. */
export interface ActivityTable {
  tenant_id: string;
  grain: 'minute' | 'hour';
  bucket: Timestamp;
  agent_id: string;
  event_count: Generated<number>;
  error_count: Generated<number>;
  tool_call_count: Generated<number>;
  llm_call_count: Generated<number>;
  input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  cost_usd: Generated<number>;
  decision_count: Generated<number>;
  blocked_count: Generated<number>;
  asked_count: Generated<number>;
  bypassed_count: Generated<number>;
  latency_counts: Generated<number[]>;
}

/** Writer: run-tracking. What a version of a decision rule did in one minute. */
export interface RuleMinutesTable {
  tenant_id: string;
  rule_id: string;
  rule_version: number;
  minute: Timestamp;
  asked: number;
  enforced: number;
  stopped: number;
  would_stop: number;
  bypassed: number;
}

/** Writer: run-tracking. Decisions by rule and UTC day. */
export interface RuleDailyTable {
  tenant_id: string;
  rule_id: string;
  day: string;
  asked: number;
  matched: number;
  blocked: number;
  asked_human: number;
  would_have: number;
}
