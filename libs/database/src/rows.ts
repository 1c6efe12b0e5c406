import {
  AppliedPolicy,
  type Alert,
  ApprovalBinding,
  type Backtest,
  type BacktestResult,
  type Budget,
  type ControlOrder,
  type Directive,
  type FieldChange,
  type GuardrailRule,
  PriceOverride,
  type PromotionGuard,
  REPRICE_NOTES,
  Reprice,
  type RollbackBounds,
  type Rollout,
  type RuleDrift,
  type Suspension,
  type WebhookEndpoint,
  type WebhookEvent,
} from '@agentlens/contracts';
import type { Selectable } from 'kysely';
import type {
  AgentDirectivesTable,
  AlertsTable,
  BacktestsTable,
  BudgetsTable,
  ControlOrdersTable,
  GuardrailRulesTable,
  PriceOverridesTable,
  RepricesTable,
  RuleVersionsTable,
  WebhookEndpointsTable,
} from './schema/tables.ts';

/** Converts a row to an alert. Empty fields are omitted, as in the published form. */
export function alertFromRow(row: Selectable<AlertsTable>): Alert {
  return {
    id: row.alert_id,
    tenantId: row.tenant_id,
    kind: row.kind,
    status: row.status,
    severity: row.severity,
    title: row.title,
    message: row.message,
    agentId: row.agent_id,
    ...(row.run_id === null ? {} : { runId: row.run_id }),
    ...(row.rule_id === null ? {} : { ruleId: row.rule_id }),
    ...(row.approval === null ? {} : { approval: ApprovalBinding.parse(row.approval) }),
    ...(row.asked_by === null ? {} : { askedBy: row.asked_by }),
    createdAt: row.created_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.acknowledged_at === null ? {} : { acknowledgedAt: row.acknowledged_at }),
    ...(row.acknowledged_by === null ? {} : { acknowledgedBy: row.acknowledged_by }),
    ...(row.decided_at === null ? {} : { decidedAt: row.decided_at }),
    ...(row.decided_by === null ? {} : { decidedBy: row.decided_by }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row.used_at === null ? {} : { usedAt: row.used_at }),
    ...readPolicy(row.policy),
    ...(row.suppressed === 0 ? {} : { suppressed: row.suppressed }),
    version: row.version,
  };
}

function readPolicy(stored: Record<string, unknown> | null): Pick<Alert, 'policy' | 'quorum'> {
  if (stored === null) return {};
  const { policy } = AppliedPolicy.parse(stored);
  return { policy: policy.name, quorum: policy.mode === 'report' ? 1 : policy.quorum };
}

/** Converts a row to a backtest. */
export function backtestFromRow(row: Selectable<BacktestsTable>): Backtest {
  const rule = row.rule as { name?: string };
  const { ruleId, clampedFrom: _, ...spec } = row.spec as Backtest['spec'] & { ruleId?: string; clampedFrom?: string };
  return {
    ...{ id: row.backtest_id, tenantId: row.tenant_id, status: row.status, ruleName: rule.name ?? '' },
    ...(ruleId === undefined ? {} : { ruleId }),
    ...{ spec, progress: row.progress as unknown as Backtest['progress'] },
    ...(row.result === null ? {} : { result: row.result as unknown as BacktestResult }),
    ...(row.error === null ? {} : { error: row.error }),
    ...(row.created_by === null ? {} : { createdBy: row.created_by }),
    createdAt: row.created_at,
    ...(row.started_at === null ? {} : { startedAt: row.started_at }),
    ...(row.finished_at === null ? {} : { finishedAt: row.finished_at }),
  };
}

/** Converts a row to a budget. */
export function budgetFromRow(row: Selectable<BudgetsTable>): Budget {
  return {
    id: row.budget_id,
    tenantId: row.tenant_id,
    name: row.name,
    scope: row.scope,
    ...(row.scope_id === null ? {} : { scopeId: row.scope_id }),
    period: row.period,
    limitUsd: row.limit_usd,
    enabled: row.enabled,
    onUnavailable: row.on_unavailable,
    onUnpriced: row.on_unpriced,
    freeCalls: row.free_calls,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Converts a row to an own price. */
export function priceOverrideFromRow(row: Selectable<PriceOverridesTable>): PriceOverride {
  return PriceOverride.parse({
    ...row.price,
    ...(row.provider === null ? {} : { provider: row.provider }),
    ...{ id: row.override_id, tenantId: row.tenant_id, version: row.version, model: row.model, fromDay: row.from_day },
    ...{ createdAt: row.created_at, updatedAt: row.updated_at },
  });
}

/** Converts a row to a reprice. */
export function repriceFromRow(row: Selectable<RepricesTable>): Reprice {
  const { from, to, ...request } = row.request as Pick<Reprice, 'from' | 'to' | 'models' | 'onlyUnpriced' | 'dryRun'>;
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const done = row.done_at === null ? 0 : (Date.parse(row.done_at) - fromMs) / Math.max(1, toMs - fromMs);
  const byModel = Object.values(row.by_model) as Reprice['byModel'];
  return {
    ...{ id: row.reprice_id, from, to, ...request, state: row.state },
    progress: row.state === 'finished' ? 1 : Math.min(1, Math.max(0, done)),
    ...{ calls: Number(row.calls), changed: Number(row.changed), deltaUsd: Number(row.delta_usd) },
    byModel: byModel.sort((one, other) => Math.abs(other.newUsd - other.oldUsd) - Math.abs(one.newUsd - one.oldUsd)),
    notes: REPRICE_NOTES,
    ...(row.error === null ? {} : { error: row.error }),
    startedAt: row.started_at,
    ...(row.finished_at === null ? {} : { finishedAt: row.finished_at }),
  };
}

/** Converts a row to a directive. */
export function directiveFromRow(row: Selectable<AgentDirectivesTable>): Directive {
  return {
    id: row.directive_id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    version: row.version,
    paused:
      row.paused_at === null
        ? null
        : { at: row.paused_at, reason: row.pause_reason ?? '', triggerId: row.pause_trigger_id ?? undefined },
    modelOverride:
      row.model_override === null
        ? null
        : {
            model: row.model_override,
            at: row.model_override_at ?? row.issued_at,
            reason: row.model_override_reason ?? '',
            triggerId: row.model_override_trigger_id ?? undefined,
          },
    issuedAt: row.issued_at,
  };
}

/** Converts a row to a rule version that no ruleset created. */
export function driftFromRow(row: Selectable<RuleVersionsTable>): RuleDrift {
  return {
    version: row.version,
    changedAt: row.changed_at,
    ...(row.changed_by === null ? {} : { changedBy: row.changed_by }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    changes: row.changes as FieldChange[],
  };
}

/** Converts a row to an order. */
export function orderFromRow(row: Selectable<ControlOrdersTable>): ControlOrder {
  return {
    id: row.order_id,
    tenantId: row.tenant_id,
    scope: row.scope,
    scopeId: row.scope_id,
    agentId: row.agent_id ?? undefined,
    state: row.state,
    reason: row.reason,
    by: row.ordered_by,
    version: row.version,
    issuedAt: row.issued_at,
  };
}

/** Converts a row to a rule. Secrets of its action stay sealed. */
export function ruleFromRow(row: Selectable<GuardrailRulesTable>): GuardrailRule {
  return {
    id: row.rule_id,
    tenantId: row.tenant_id,
    version: row.version,
    name: row.name,
    ...(row.description === null ? {} : { description: row.description }),
    enabled: row.enabled,
    conditionType: row.condition_type,
    conditionConfig: row.condition_config,
    actionType: row.action_type,
    actionConfig: row.action_config,
    ...(row.agent_id === null ? {} : { agentId: row.agent_id }),
    cooldownMinutes: row.cooldown_minutes,
    dryRun: row.dry_run,
    direction: row.direction,
    ...(row.tool_names === null ? {} : { toolNames: row.tool_names }),
    priority: row.priority,
    mode: row.mode,
    ...(row.rollout === null ? {} : { rollout: row.rollout as Rollout }),
    ...(row.promotion_guard === null ? {} : { guard: row.promotion_guard as PromotionGuard }),
    ...(row.rollback === null ? {} : { rollback: row.rollback as RollbackBounds }),
    ...(row.suspended === null ? {} : { suspended: row.suspended as Suspension }),
    ...(row.meaning_version === null ? {} : { meaningVersion: row.meaning_version }),
    onMissing: row.on_missing,
    onUnavailable: row.on_unavailable,
    ...(row.selector === null ? {} : { selector: row.selector }),
    ...(row.policy_id === null ? {} : { policyId: row.policy_id }),
    ...(row.key === null ? {} : { key: row.key }),
    ...(row.ruleset === null ? {} : { ruleset: row.ruleset }),
    ...(row.applied_version === null ? {} : { appliedVersion: row.applied_version }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Converts a row to a webhook endpoint without its secret. */
export function webhookFromRow(
  row: Omit<Selectable<WebhookEndpointsTable>, 'secret' | 'listens_since'>,
): WebhookEndpoint {
  return {
    id: row.webhook_id,
    tenantId: row.tenant_id,
    ...(row.name === null ? {} : { name: row.name }),
    url: row.url,
    // Only values from the checked list are written.
    events: row.events as WebhookEvent[],
    format: row.format,
    enabled: row.enabled,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
