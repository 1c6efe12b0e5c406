import type { DecisionRequest, EventKind, GuardrailRule } from '@agentlens/contracts';
import { ACTIONS } from '../actions/index.ts';
import type { DecisionAction } from '../catalog/action-module.ts';
import type { ConditionModule, EventCondition, EventMeasure, TickCondition } from '../catalog/condition-module.ts';
import type { Threshold } from '../catalog/threshold.ts';
import { CONDITIONS } from '../conditions/index.ts';
import { callTest } from '../decisions/call-test.ts';
import type { DecisionRule, RuleIdentity, Selects } from '../decisions/decision-rule.ts';
import { phasesOf, selectsOf } from '../decisions/selectors.ts';
import { selectsTool } from '../decisions/tool-index.ts';
import { foldedName } from '../patterns/names.ts';
import { type ActiveRollout, isInRollout, rolloutOf } from './rollout.ts';

interface Compiled extends RuleIdentity {
  readonly threshold: Threshold;
  /** Set for a canary rule. Its unit is the agent, because its actions stop agents. */
  readonly rollout?: ActiveRollout | undefined;
  message(value: number): string;
}

/** A rule measured on events. */
export interface EventRule extends Compiled, Pick<EventMeasure, 'series' | 'measure'> {
  readonly cadence: 'event';
  readonly kinds: readonly EventKind[];
}

/** A rule measured each minute. */
export interface TickRule extends Compiled {
  readonly cadence: 'tick';
  readonly windowDays: number;
  measure(score: number | null): number | null;
}

/** A rule that triggers when its measured value meets its threshold. */
export type MeasuredRule = EventRule | TickRule;

export type ActiveRule = MeasuredRule | DecisionRule;

type Activated = { readonly ok: true; readonly value: ActiveRule } | { readonly ok: false; readonly reason: string };

/** Returns true if a rule is evaluated at all. A suspended rule is not, until its suspension ends. */
export function isInForce(rule: Pick<GuardrailRule, 'enabled' | 'mode' | 'suspended'>, nowMs: number): boolean {
  return rule.enabled && rule.mode !== 'off' && !isSuspended(rule, nowMs);
}

export function isSuspended({ suspended }: Pick<GuardrailRule, 'suspended'>, nowMs: number): boolean {
  return suspended !== undefined && nowMs < Date.parse(suspended.until);
}

/** Returns true if a rule on events only records its triggers for an agent. */
export function isDryFor({ id, dryRun, rollout }: MeasuredRule, agentId: string): boolean {
  return dryRun || (rollout !== undefined && !isInRollout(id, rollout, agentId));
}

/**
 * Prepares a stored rule: resolves its condition and parses its config once. Fails if the rule was stored by a version
 * with other conditions; such a rule is shown as degraded and does not affect others.
 */
export function activate(rule: GuardrailRule): Activated {
  const condition = CONDITIONS.get(rule.conditionType);
  if (condition === undefined) return unready(`unknown condition type ${rule.conditionType}`);
  const config = condition.config.safeParse(rule.conditionConfig);
  if (!config.success) return unready('the stored condition config is no longer valid');
  const action = ACTIONS.get(rule.actionType);
  if (action !== undefined && 'effect' in action) return decisionRule(rule, condition, config.data, action);
  if (condition.cadence === 'event') return { ok: true, value: eventRule(rule, condition, config.data) };
  if (condition.cadence === 'tick') return { ok: true, value: tickRule(rule, condition, config.data) };
  return unready(`condition ${rule.conditionType} decides calls, and action ${rule.actionType} does not`);
}

/**
 * Returns true for an active rule that lets a call pass if the call lacks the data the rule reads, or the data is
 * unreadable.
 */
export function passesUnread(rule: GuardrailRule, nowMs: number): boolean {
  if (!isInForce(rule, nowMs) || rule.onMissing === 'block') return false;
  const active = activate(rule);
  if (!active.ok || active.value.cadence !== 'call' || active.value.mode !== 'enforce') return false;
  return rule.actionType !== 'allow' && active.value.reads.some((part) => part === 'args' || part === 'result');
}

/** Returns true for an active rule that requires approval and lets a call pass if the approval cannot be requested. */
export function passesUnasked(rule: GuardrailRule, nowMs: number): boolean {
  if (!isInForce(rule, nowMs) || rule.onUnavailable === 'block') return false;
  const active = activate(rule);
  return active.ok && active.value.cadence === 'call' && active.value.mode === 'enforce' && active.value.asksPeople;
}

function unready(reason: string): Activated {
  return { ok: false, reason };
}

function decisionRule(
  rule: GuardrailRule,
  condition: ConditionModule,
  config: unknown,
  action: DecisionAction,
): Activated {
  const test = callTest(condition, config);
  if (test === null) return unready(`condition ${rule.conditionType} cannot be asked about a call`);
  const effect = action.config.safeParse(rule.actionConfig);
  if (!effect.success) return unready('the stored action config is no longer valid');
  const { onMissing, onUnavailable } = rule;
  const selects = selectsOf(rule);
  return {
    ok: true,
    value: {
      ...identity(rule),
      cadence: 'call',
      mode: rule.mode === 'shadow' || rule.dryRun ? 'shadow' : 'enforce',
      rollout: rolloutOf(rule, 'tree'),
      onMissing,
      onUnavailable,
      phases: phasesOf(rule, condition),
      selects,
      counts: test.countsCall !== undefined,
      countsEveryAgent: test.countsEveryAgent ?? false,
      reads: test.reads,
      changesArguments: action.changesArguments ?? false,
      asksPeople: action.asksPeople ?? false,
      feeds: test.feeds ?? [],
      countsCall: ({ tool }) => test.countsCall?.({ tool, isSelected: selectsName(selects, tool) }) ?? false,
      needs: (request) => test.needs?.(request) ?? {},
      answer: (facts) => test.matches(facts),
      measured: (facts) => test.measured?.(facts) ?? null,
      flow: (facts) => test.flow?.(facts) ?? null,
      effect: (args) => action.effect(effect.data, args),
    },
  };
}

/** Ignores tags, because they may differ between calls of the same tool. */
function selectsName({ tools }: Selects, tool: DecisionRequest['tool']): boolean {
  return tool !== undefined && selectsTool({ tools }, { name: foldedName(tool.name), tags: [] });
}

function eventRule(rule: GuardrailRule, condition: EventCondition<unknown>, config: unknown): EventRule {
  const { series, measure } = condition.ready(config);
  return {
    ...compiled(rule, condition, config),
    cadence: 'event',
    kinds: condition.listensTo(config),
    series,
    measure,
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

function compiled(
  rule: GuardrailRule,
  condition: EventCondition<unknown> | TickCondition<unknown>,
  config: unknown,
): Compiled {
  return {
    ...identity(rule),
    rollout: rolloutOf(rule, 'agent'),
    threshold: condition.threshold(config),
    message: (value) => condition.message(config, value),
  };
}

function identity(rule: GuardrailRule): RuleIdentity {
  const { id, tenantId, version, name, agentId, conditionType, actionType, cooldownMinutes, priority } = rule;
  const dryRun = rule.dryRun || rule.mode === 'shadow';
  const meaningVersion = rule.meaningVersion ?? version;
  return {
    ...{ id, tenantId, version, meaningVersion, name, agentId, conditionType, actionType },
    ...{ cooldownMinutes, dryRun, priority },
  };
}
