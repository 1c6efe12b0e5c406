import {
  DECISION_EFFECTS,
  type DecisionEffect,
  type DecisionRequest,
  type RuleBypass,
  type RuleFinding,
} from '@agentlens/contracts';
import { byPriority, type DecisionRule } from './decision-rule.ts';
import { callView, type DecisionFacts } from './facts.ts';
import { conditionAnswer, findingOf, type RuleVerdict, verdictOf, withMeasurement } from './rule-verdict.ts';
import { callAllowance, type StepAllowance } from './step-meter.ts';

/** Returns the most severe effect, or `allow` if there are none. */
export function mostSevere(effects: readonly DecisionEffect[]): DecisionEffect {
  return effects.reduce<DecisionEffect>(
    (worst, effect) => (severityOf(effect) > severityOf(worst) ? effect : worst),
    'allow',
  );
}

function severityOf(effect: DecisionEffect): number {
  return DECISION_EFFECTS.indexOf(effect);
}

/** A question that a person must answer before the call may proceed. */
export interface Ask {
  readonly ruleId: string;
  /** The version in which the meaning of the rule last changed. */
  readonly ruleVersion: number;
  readonly title: string;
  readonly expiresInSeconds: number;
  /** Further rules that ask for this call, in order of priority. One approval is for all of them. */
  readonly also: readonly DecisionRule[];
  /** One of them looked at the result of the call, so a person approves that result. */
  readonly readsResult: boolean;
}

/** Rules that one approval names. Further ones ask for themselves. */
const MAX_ASKING_RULES = 20;

/** Result of evaluating the rules for a call. */
export interface Ruling {
  /** The most severe effect of the enforced rules. */
  readonly effect: DecisionEffect;
  /** The same, counting shadow rules as enforced. */
  readonly wouldBe: DecisionEffect;
  /** The enforced rule that decided; absent if the effect is `allow`. */
  readonly finalRule?: DecisionRule;
  /** Message for the agent. Names the rule, never its limit. */
  readonly message: string;
  /** Every evaluated rule, highest priority first. */
  readonly findings: readonly RuleFinding[];
  readonly bypasses: readonly RuleBypass[];
  /** Present if the effect is `ask`. */
  readonly ask?: Ask;
  /** Arguments to use instead. Present if the effect is `modify` or `ask` and rules change the arguments. */
  readonly modifiedArgs?: unknown;
}

/**
 * Evaluates `rules` for a request. Deterministic, regardless of the order of rules. Never throws: a rule that throws,
 * or exceeds the step allowance, is decided by its `onUnavailable` setting and does not affect other rules.
 *
 * @param allowance steps that the rules of this call share, beyond what is free for each
 */
export function decide(
  rules: readonly DecisionRule[],
  request: DecisionRequest,
  facts: DecisionFacts,
  nowMs: number,
  allowance: StepAllowance = callAllowance(),
): Ruling {
  const { verdicts, args } = evaluateRules(rules, request, facts, nowMs, allowance);
  const enforced = verdicts.filter(({ mode }) => mode === 'enforce');
  const effect = mostSevere(enforced.map((one) => one.effect.kind));
  const final = effect === 'allow' ? undefined : enforced.find((one) => one.effect.kind === effect);
  const ask = findAsk(final, enforced);
  return {
    effect,
    wouldBe: mostSevere(verdicts.map((one) => one.effect.kind)),
    ...(final === undefined ? {} : { finalRule: final.rule }),
    message: messageOf(final),
    findings: verdicts.map(findingOf),
    bypasses: verdicts.flatMap(({ bypass, unplaced }) => [bypass ?? [], unplaced ?? []].flat()),
    ...(ask === undefined ? {} : { ask }),
    ...(args !== request.args && (effect === 'modify' || effect === 'ask') ? { modifiedArgs: args } : {}),
  };
}

/** Evaluates each rule, highest priority first, and applies the changes of enforced rules to the arguments. */
function evaluateRules(
  rules: readonly DecisionRule[],
  request: DecisionRequest,
  facts: DecisionFacts,
  nowMs: number,
  allowance: StepAllowance,
) {
  const view = callView(request, facts, nowMs);
  // Evaluate the most important rule first, so that it never finds the allowance spent.
  const answers = [...rules]
    .sort(byPriority)
    .map((rule) => ({ rule, answer: conditionAnswer(rule, view, facts, allowance) }))
    .reverse();
  const verdicts: RuleVerdict[] = [];
  let args = request.args;
  // Apply the most important rule's changes last, so that no other rule overwrites them.
  for (const { rule, answer } of answers) {
    if (answer === null) continue;
    const one = withMeasurement(verdictOf(rule, answer, args, facts, request), view);
    if (one.effect.kind === 'modify' && one.mode === 'enforce') args = one.effect.args;
    verdicts.push(one);
  }
  return { verdicts: verdicts.reverse(), args };
}

function findAsk(final: RuleVerdict | undefined, enforced: readonly RuleVerdict[]): Ask | undefined {
  if (final?.effect.kind !== 'ask') return undefined;
  const { rule, effect } = final;
  const others = enforced.filter((one) => one.effect.kind === 'ask' && one !== final).slice(0, MAX_ASKING_RULES);
  return {
    ruleId: rule.id,
    ruleVersion: rule.meaningVersion,
    title: effect.title ?? rule.name,
    expiresInSeconds: Math.min(
      effect.expiresInSeconds,
      ...others.flatMap((one) => (one.effect.kind === 'ask' ? [one.effect.expiresInSeconds] : [])),
    ),
    also: others.map((one) => one.rule),
    readsResult: [final, ...others].some((one) => one.rule.reads.includes('result')),
  };
}

const DEFAULT_MESSAGES: Readonly<Record<Exclude<DecisionEffect, 'allow'>, string>> = {
  modify: 'Arguments changed by rule',
  ask: 'A human has to approve this call, by rule',
  block: 'Blocked by rule',
  terminate: 'The run is ended by rule',
};

function messageOf(final: RuleVerdict | undefined): string {
  if (final === undefined || final.effect.kind === 'allow') return 'Allowed';
  const { effect, rule } = final;
  const own = effect.kind === 'block' || effect.kind === 'terminate' ? effect.message : undefined;
  return own ?? `${DEFAULT_MESSAGES[effect.kind]} "${rule.name}"`;
}
