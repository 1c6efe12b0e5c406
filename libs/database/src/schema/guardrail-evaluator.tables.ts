import type { BreakerLimitScope, BreakerScope, RuleChangeSource } from '@agentlens/contracts';
import type { Generated } from 'kysely';
import type { Json, JsonList, NullableJson, Timestamp } from './columns.ts';

/** Writer: guardrail-evaluator. Deleted rules are kept and marked, because deliveries refer to them. */
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
  mode: Generated<'enforce' | 'canary' | 'shadow' | 'off'>;
  on_missing: Generated<'allow' | 'block'>;
  on_unavailable: Generated<'allow' | 'block'>;
  selector: NullableJson;
  policy_id: Generated<string | null>;
  key: Generated<string | null>;
  ruleset: Generated<string | null>;
  applied_version: Generated<number | null>;
  rollout: NullableJson;
  promotion_guard: NullableJson;
  rollback: NullableJson;
  suspended: NullableJson;
  meaning_version: Generated<number | null>;
}

/** Writer: guardrail-evaluator, in the transaction that changes the rule. Rows are immutable. */
export interface RuleVersionsTable {
  tenant_id: string;
  rule_id: string;
  version: number;
  /** The rule as returned by the API, with sealed secrets; for a deleted rule, its last state. */
  body: Json;
  changes: JsonList;
  deleted: Generated<boolean>;
  source: RuleChangeSource;
  changed_by: string | null;
  reason: string | null;
  changed_at: Timestamp;
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

/** Writer: guardrail-evaluator. Record of decisions made in Redis. */
export interface CircuitBreakersTable {
  tenant_id: string;
  scope: BreakerScope;
  scope_id: string;
  agent_id: string;
  state: Json;
  version: number;
  changed_at: Timestamp;
}

/** Writer: guardrail-evaluator. Of a run, the most specific scope applies: run, agent, tenant, defaults. */
export interface BreakerLimitsTable {
  tenant_id: string;
  scope: BreakerLimitScope;
  scope_id: string;
  limits: Json;
  version: Generated<number>;
  updated_at: Timestamp;
  /** Set when the limits were deleted. The row is kept so that its version continues and polls notice the change. */
  deleted_at: Timestamp | null;
}

/** Writer: guardrail-evaluator. */
export interface BudgetsTable {
  tenant_id: string;
  budget_id: string;
  name: string;
  scope: 'run' | 'tree' | 'session' | 'agent' | 'actor' | 'tenant';
  scope_id: string | null;
  period: 'total' | 'day' | 'week' | 'month';
  limit_usd: number;
  enabled: boolean;
  on_unavailable: 'allow' | 'block';
  on_unpriced: Generated<'allow' | 'estimate' | 'block'>;
  free_calls: Generated<'allow' | 'block'>;
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
  /** The call had no known price; the cost is an estimate. */
  unpriced: Generated<boolean>;
}

/** Writer: guardrail-evaluator. Kept for 30 days after the label was set. */
export interface RunLabelsTable {
  tenant_id: string;
  run_id: string;
  label: string;
  /** A `LabelCause`. */
  cause: Json;
  set_at: Timestamp;
}

/** Writer: guardrail-evaluator. A row for each tenant whose rules used labels. */
export interface RunLabelStoresTable {
  tenant_id: string;
  first_used_at: Timestamp;
  lost_at: Timestamp | null;
  salt: Generated<string>;
}
