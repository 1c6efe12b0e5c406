import type { AgentEvent, EventKind, GuardrailRule } from '@agentlens/contracts';
import type { ConditionModule, EventCondition, TickCondition } from '../catalog/condition-module.ts';
import type { Threshold } from '../catalog/threshold.ts';
import { CONDITIONS } from '../conditions/index.ts';
import type { Series, Totals } from '../ports/window-store.ts';

/** What evaluation needs of a rule; no action config, so that no secret lies about in memory. */
export type RuleIdentity = Pick<
  GuardrailRule,
  | 'id'
  | 'tenantId'
  | 'version'
  | 'name'
  | 'agentId'
  | 'conditionType'
  | 'actionType'
  | 'cooldownMinutes'
  | 'dryRun'
  | 'priority'
>;

interface Compiled extends RuleIdentity {
  readonly threshold: Threshold;
  message(value: number): string;
}

/** A rule measured on events. */
export interface EventRule extends Compiled {
  readonly cadence: 'event';
  readonly kinds: readonly EventKind[];
  series(event: AgentEvent): readonly Series[] | null;
  measure(totals: readonly Totals[]): number | null;
}

/** A rule measured each minute. */
export interface TickRule extends Compiled {
  readonly cadence: 'tick';
  readonly windowDays: number;
  measure(score: number | null): number | null;
}

export type ActiveRule = EventRule | TickRule;

/**
 * A stored rule made ready: its condition found and its config parsed once. Not ok where the rule was stored by a
 * version that knew other conditions; such a rule is shown as degraded and stops only itself.
 */
export function activate(
  rule: GuardrailRule,
): { readonly ok: true; readonly value: ActiveRule } | { readonly ok: false; readonly reason: string } {
  const condition = CONDITIONS.get(rule.conditionType);
  if (condition === undefined) return { ok: false, reason: `unknown condition type ${rule.conditionType}` };
  const config = condition.config.safeParse(rule.conditionConfig);
  if (!config.success) return { ok: false, reason: 'the stored condition config is not valid any more' };
  return { ok: true, value: bind(rule, condition, config.data) };
}

function bind(rule: GuardrailRule, condition: ConditionModule, config: unknown): ActiveRule {
  return condition.cadence === 'event' ? eventRule(rule, condition, config) : tickRule(rule, condition, config);
}

function eventRule(rule: GuardrailRule, condition: EventCondition<unknown>, config: unknown): EventRule {
  return {
    ...compiled(rule, condition, config),
    cadence: 'event',
    kinds: condition.listensTo(config),
    series: (event) => condition.series(config, event),
    measure: (totals) => condition.measure(config, totals),
  };
}

function tickRule(rule: GuardrailRule, condition: TickCondition<unknown>, config: unknown): TickRule {
  return {
    ...compiled(rule, condition, config),
    cadence: 'tick',
    windowDays: condition.windowDays(config),
    measure: (score) => condition.measure(config, score),
  };
}

function compiled(rule: GuardrailRule, condition: ConditionModule, config: unknown): Compiled {
  const { id, tenantId, version, name, agentId, conditionType, actionType, cooldownMinutes, dryRun, priority } = rule;
  return {
    ...{ id, tenantId, version, name, agentId, conditionType, actionType, cooldownMinutes, dryRun, priority },
    threshold: condition.threshold(config),
    message: (value) => condition.message(config, value),
  };
}
