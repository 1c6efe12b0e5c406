import type { DecisionEffect, DecisionRequest, RuleBypass, RuleFinding } from '@agentlens/contracts';
import type { ActionEffect } from '../catalog/action-module.ts';
import type { CallMeasurement } from '../catalog/condition-module.ts';
import { mixesScripts } from '../patterns/names.ts';
import { selectsAgent } from './agent-selector.ts';
import type { DecisionAnswer } from './answer.ts';
import type { DecisionRule } from './decision-rule.ts';
import type { CallFacts, DecisionFacts } from './facts.ts';
import { metered, type StepAllowance, StepsSpent } from './step-meter.ts';

type Effect = Exclude<ActionEffect, { kind: 'missing' }>;

/** What one rule says of a call. */
export interface Saying {
  readonly rule: DecisionRule;
  readonly matched: boolean;
  readonly effect: Effect;
  readonly bypass?: RuleBypass;
  /** Of a rule that matched, where its condition measures something. */
  readonly measured?: CallMeasurement;
}

const ALLOW: Effect = { kind: 'allow' };
const FREE_ONLY: StepAllowance = { take: () => false };

/** What a rule's condition says; null: the rule is about other agents. Never throws. */
export function asked(
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

/** What a rule asks for after its condition gave `answer`, where the arguments are `args` by now. Never throws. */
export function saying(
  rule: DecisionRule,
  answer: DecisionAnswer | 'error',
  args: unknown,
  facts: DecisionFacts,
  { unread }: Pick<DecisionRequest, 'unread'> = {},
): Saying {
  if (answer === false) return { rule, matched: false, effect: ALLOW };
  if (answer !== true) return bypassed(rule, answer, facts);
  if (rule.changesArguments && unread?.args !== undefined) return bypassed(rule, 'missing', facts);
  try {
    const effect = rule.effect(args);
    if (effect.kind === 'missing') return bypassed(rule, 'missing', facts);
    if (effect.kind === 'ask' && facts.approved?.has(rule.id)) return { rule, matched: true, effect: ALLOW };
    return { rule, matched: true, effect };
  } catch {
    return bypassed(rule, 'error', facts);
  }
}

/** What the rule measured, for people. Changes no answer: what costs too much to tell is left untold. Never throws. */
export function withMeasurement(one: Saying, view: CallFacts): Saying {
  if (!one.matched) return one;
  try {
    const measured = metered(FREE_ONLY, () => one.rule.measured(view));
    if (measured === null || !Number.isFinite(measured.value) || !Number.isFinite(measured.limit)) return one;
    return { ...one, measured };
  } catch {
    return one;
  }
}

export function findingOf({ rule, matched, effect, measured }: Saying): RuleFinding {
  const kind: DecisionEffect = effect.kind;
  return {
    ruleId: rule.id,
    ruleVersion: rule.version,
    enabled: true,
    matched,
    violated: kind !== 'allow',
    effect: kind,
    mode: rule.mode,
    ...measured,
  };
}

function bypassed(rule: DecisionRule, what: Exclude<DecisionAnswer, boolean> | 'error', facts: DecisionFacts): Saying {
  const did = what === 'missing' ? rule.onMissing : rule.onUnavailable;
  const late = [facts.history, facts.totals, facts.agent].includes('deadline');
  const why = what === 'unavailable' && late ? 'deadline' : what;
  return { rule, matched: false, effect: { kind: did }, bypass: { ruleId: rule.id, why, did } };
}
