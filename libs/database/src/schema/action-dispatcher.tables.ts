import type { DeliveryExchange } from '@agentlens/contracts';
import type { ColumnType, Generated, JSONColumnType } from 'kysely';
import type { Json, NullableJson, Timestamp } from './columns.ts';

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
  /** Null in rows that are older than this column. */
  comparison: 'exceeds' | 'reaches' | 'falls below' | 'falls to' | 'equals' | null;
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
  /** Triggers before this time have no effect, because a person ended the pause that the rule ordered. */
  rearmed_at: Generated<Timestamp | null>;
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
  /** Webhook endpoint of the delivery; null for the action of a rule or the webhook of an alert. */
  webhook_id: Generated<string | null>;
  traceparent: string | null;
  result: 'pending' | 'retrying' | 'success' | 'failed' | 'dry_run' | 'cooldown' | 'superseded';
  attempts: Generated<number>;
  next_attempt_at: Timestamp | null;
  lease_until: Timestamp | null;
  lease_id: string | null;
  detail: string | null;
  created_at: Timestamp;
  settled_at: Timestamp | null;
  channel_id: Generated<string | null>;
  /** Deliveries with one key are sent one after the other, in the order of `order_n`. */
  order_key: Generated<string | null>;
  order_n: Generated<number | null>;
  /** What the receiver answered that identifies the message, such as Slack's `ts`. */
  receipt: Generated<string | null>;
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
  /** Redacted request and response; null if no request was made. */
  exchange: ColumnType<DeliveryExchange | null, string | null | undefined, string | null>;
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
export interface WebhookEndpointsTable {
  tenant_id: string;
  webhook_id: string;
  name: string | null;
  url: string;
  /** Derived from `url`, as in `destinations`. */
  destination: string;
  events: string[];
  format: 'standard' | 'slack';
  enabled: boolean;
  /** Sealed. */
  secret: string;
  /** By event, when the endpoint started to listen to it, if that was after its creation. */
  listens_since: JSONColumnType<Record<string, string>, string | undefined, string>;
  version: number;
  created_at: Timestamp;
  updated_at: Timestamp;
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

/** Writer: action-dispatcher. */
export interface AlertsTable {
  tenant_id: string;
  alert_id: string;
  kind: 'approval' | 'breaker' | 'rule' | 'spend' | 'security' | 'change';
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
  /** Id of the key that the call was requested with. */
  asked_by: string | null;
  /** `Idempotency-Key` of the question that used the approval. */
  used_by: string | null;
  /** When a question without a key was repeated. */
  retried_at: Timestamp | null;
  /** When the result of the call was reported. */
  spent_at: Timestamp | null;
  suppressed: Generated<number>;
  version: number;
  /** An `AppliedPolicy`: the policy that was in force when the approval was opened. */
  policy: NullableJson;
  /** Why people may not decide, by person id, as known when the approval was opened. */
  requesters: NullableJson;
  /** Labels for routes; null in rows that are older than this column. */
  labels: NullableJson;
}

/** Writer: action-dispatcher. */
export interface ApprovalPoliciesTable {
  tenant_id: string;
  policy_id: string;
  /** The first policy that matches applies. */
  place: number;
  body: Json;
  version: number;
  /** Id of the person who saved it; null for a key. */
  saved_by: string | null;
  saved_at: Timestamp;
}

/** Writer: action-dispatcher. */
export interface ApprovalVotesTable {
  tenant_id: string;
  alert_id: string;
  /** Id of the person, or of the key. */
  voter: string;
  name: string;
  is_person: boolean;
  verdict: 'approve' | 'deny';
  at: Timestamp;
  via: string;
  session_id: string | null;
  reason: string | null;
  /** Ids of the people in whose place a deputy voted. */
  stands_in_for: string[] | null;
}

/** Writer: action-dispatcher. The call that an approval is about. */
export interface ApprovalCallsTable {
  tenant_id: string;
  alert_id: string;
  /** JSON of an `ApprovalCall`, sealed for `[tenant_id, 'approval_calls', alert_id]`. */
  sealed: string;
  /** Why a part is missing; null if it is complete. */
  cut: string | null;
  created_at: Timestamp;
}

/** Writer: action-dispatcher. One standing order per run, agent or tenant. */
export interface ControlOrdersTable {
  tenant_id: string;
  scope: 'run' | 'agent' | 'tenant';
  scope_id: string;
  order_id: string;
  /** For an order on a run: the run's agent, if known. */
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
  /** Connection, version and MAC; null if the instance did not sign. */
  signature: NullableJson;
}
