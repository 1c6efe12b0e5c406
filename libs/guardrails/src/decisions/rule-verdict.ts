import type { DecisionEffect, DecisionRequest, RuleBypass, RuleFinding } from '@agentlens/contracts';
import type { ActionEffect } from '../catalog/action-module.ts';
import type { CallMeasurement, DataFlow } from '../catalog/condition-module.ts';
import { mixesScripts } from '../patterns/names.ts';
import { placeInRollout, type RolloutPlace } from '../rules/rollout.ts';
import type { DecisionAnswer } from './answer.ts';
import type { DecisionRule } from './decision-rule.ts';
import type { CallFacts, DecisionFacts } from './facts.ts';
import { selectsAgent } from './selectors.ts';
import { metered, type StepAllowance, StepsSpent } from './step-meter.ts';

type Effect = Exclude<ActionEffect, { kind: 'missing' }>;

/** Result of one rule for a call. */
export interface RuleVerdict {
  readonly rule: DecisionRule;
  /** What holds for this call. */
  readonly mode: DecisionRule['mode'];
  readonly matched: boolean;
  readonly effect: Effect;
  readonly bypass?: RuleBypass;
  /** Set if the rule would act, but only records it because the call lacks the unit of its rollout. */
  readonly unplaced?: RuleBypass;
  /** Present for a rule that matched if its condition measures something. */
  readonly measured?: CallMeasurement;
  /** Present for a rule that matched because of a data flow. */
  readonly flow?: DataFlow;
}

const ALLOW: Effect = { kind: 'allow' };
const FREE_ONLY: StepAllowance = { take: () => false };

/** Evaluates a rule's condition. Returns null if the rule is for other agents. Never throws. */
export function conditionAnswer(
  rule: DecisionRule,
  view: CallFacts,
  { agent }: DecisionFacts,
  allowance: StepAllowance,
): DecisionAnswer | 'error' | null {
  const selected = selectsAgent(rule.selects, view.request.agentId, agent);
  if (selected === false) return null;
  if (selected === 'unavailable') return selected;
  if (rule.actionType === 'allow' && mixesScripts(view.request.tool?.name ?? '')) return false;
  try {
    return metered(allowance, () => rule.answer(view));
  } catch (error) {
    return error instanceof StepsSpent ? 'unavailable' : 'error';
  }
}

/** Applies a rule's action after its condition returned `answer`; `args` are the arguments so far. Never throws. */
export function verdictOf(
  rule: DecisionRule,
  answer: DecisionAnswer | 'error',
  args: unknown,
  facts: DecisionFacts,
  request: DecisionRequest,
): RuleVerdict {
  const verdict = effectOf(rule, answer, args, facts, request);
  const { mode, place } = standingOf(rule, request);
  if (place !== 'unknown' || verdict.effect.kind === 'allow') return { rule, mode, ...verdict };
  return { rule, mode, ...verdict, unplaced: { ruleId: rule.id, why: 'canary_unit', did: 'allow' } };
}

/** Returns what holds of a rule for one call: its mode or, for a canary, that of the call's place in the rollout. */
export function standingOf(
  { id, mode, rollout }: Pick<DecisionRule, 'id' | 'mode' | 'rollout'>,
  request: DecisionRequest,
): { readonly mode: DecisionRule['mode']; readonly place?: RolloutPlace } {
  if (rollout === undefined) return { mode };
  const place = placeInRollout(id, rollout, request);
  return { mode: place === 'in' ? 'enforce' : 'shadow', place };
}

function effectOf(
  rule: DecisionRule,
  answer: DecisionAnswer | 'error',
  args: unknown,
  facts: DecisionFacts,
  { unread }: DecisionRequest,
): Pick<RuleVerdict, 'matched' | 'effect' | 'bypass'> {
  if (answer === false) return { matched: false, effect: ALLOW };
  if (answer !== true) return bypassed(rule, answer, facts);
  if (rule.changesArguments && unread?.args !== undefined) return bypassed(rule, 'missing', facts);
  try {
    const effect = rule.effect(args);
    if (effect.kind === 'missing') return bypassed(rule, 'missing', facts);
    if (effect.kind === 'ask' && facts.approved?.has(rule.id)) return { matched: true, effect: ALLOW };
    return { matched: true, effect };
  } catch {
    return bypassed(rule, 'error', facts);
  }
}

/**
 * Adds the measurement for display. Does not affect the ruling: a measurement that costs too many steps is left out.
 * Never throws.
 */
export function withMeasurement(one: RuleVerdict, view: CallFacts): RuleVerdict {
  if (!one.matched) return one;
  try {
    const [measured, flow] = metered(FREE_ONLY, () => [one.rule.measured(view), one.rule.flow(view)] as const);
    const isMeasured = measured !== null && Number.isFinite(measured.value) && Number.isFinite(measured.limit);
    return { ...one, ...(isMeasured ? { measured } : {}), ...(flow === null ? {} : { flow }) };
  } catch {
    return one;
  }
}

export function findingOf({ rule, mode, matched, effect, measured, flow }: RuleVerdict): RuleFinding {
  const kind: DecisionEffect = effect.kind;
  return {
    ruleId: rule.id,
    ruleVersion: rule.version,
    enabled: true,
    matched,
    violated: kind !== 'allow',
    effect: kind,
    mode,
    ...measured,
    ...(flow === undefined ? {} : { flow: shownFlow(flow) }),
  };
}

function shownFlow({ label, grade, field, source }: DataFlow): NonNullable<RuleFinding['flow']> {
  const { runId, agentId, toolName, callId, atMs } = source;
  return {
    ...{ label, grade, ...(field === undefined ? {} : { field }) },
    source: {
      ...{ runId, agentId, toolName, at: new Date(atMs).toISOString() },
      ...(callId === undefined ? {} : { callId }),
    },
  };
}

function bypassed(
  rule: DecisionRule,
  what: Exclude<DecisionAnswer, boolean> | 'error',
  facts: DecisionFacts,
): Pick<RuleVerdict, 'matched' | 'effect' | 'bypass'> {
  const did = what === 'missing' ? rule.onMissing : rule.onUnavailable;
  const late = [facts.history, facts.histories, facts.totals, facts.labels, facts.agent].includes('deadline');
  const why = what === 'unavailable' && late ? 'deadline' : what;
  return { matched: false, effect: { kind: did }, bypass: { ruleId: rule.id, why, did } };
}
