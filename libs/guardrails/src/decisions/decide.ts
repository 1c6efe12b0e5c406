import {
  DECISION_EFFECTS,
  type DecisionEffect,
  type DecisionRequest,
  type RuleBypass,
  type RuleFinding,
} from '@agentlens/contracts';
import { callView } from './call-view.ts';
import { byPriority, type DecisionRule } from './decision-rule.ts';
import type { DecisionFacts } from './facts.ts';
import { asked, findingOf, type Saying, saying, withMeasurement } from './rule-saying.ts';
import { callAllowance, type StepAllowance } from './step-meter.ts';

/** The most severe of some effects; of none, `allow`. */
export function mostSevere(effects: readonly DecisionEffect[]): DecisionEffect {
  return effects.reduce<DecisionEffect>(
    (worst, effect) => (severityOf(effect) > severityOf(worst) ? effect : worst),
    'allow',
  );
}

function severityOf(effect: DecisionEffect): number {
  return DECISION_EFFECTS.indexOf(effect);
}

/** A question a human has to answer before the call may go on. */
export interface Ask {
  readonly ruleId: string;
  readonly ruleVersion: number;
  readonly title: string;
  readonly expiresInSeconds: number;
}

/** What the rules say of a call. */
export interface Ruling {
  /** The most severe of what enforcing rules ask for. */
  readonly effect: DecisionEffect;
  /** The same with rules in shadow mode counted as if they were enforced. */
  readonly wouldBe: DecisionEffect;
  /** The enforcing rule that settled it; absent where the effect is `allow`. */
  readonly finalRule?: DecisionRule;
  /** For the agent; names the rule, never its limit. */
  readonly message: string;
  /** Every rule that was asked, most important first. */
  readonly findings: readonly RuleFinding[];
  readonly bypasses: readonly RuleBypass[];
  /** With effect `ask`. */
  readonly ask?: Ask;
  /** With effects `modify` and `ask`, where rules change the arguments: those to use instead. */
  readonly modifiedArgs?: unknown;
}

/**
 * What `rules` say of a request. The same for the same input, in whatever order the rules come. Never throws: a rule
 * that does, or costs more steps than there are, is passed or enforced as its `onUnavailable` says, and stops no other.
 *
 * @param allowance what the rules of this call may spend together, beyond what is free for each
 */
export function decide(
  rules: readonly DecisionRule[],
  request: DecisionRequest,
  facts: DecisionFacts,
  nowMs: number,
  allowance: StepAllowance = callAllowance(),
): Ruling {
  const { sayings, args } = said(rules, request, facts, nowMs, allowance);
  const enforced = sayings.filter(({ rule }) => rule.mode === 'enforce');
  const effect = mostSevere(enforced.map((one) => one.effect.kind));
  const final = effect === 'allow' ? undefined : enforced.find((one) => one.effect.kind === effect);
  const ask = askOf(final);
  return {
    effect,
    wouldBe: mostSevere(sayings.map((one) => one.effect.kind)),
    ...(final === undefined ? {} : { finalRule: final.rule }),
    message: messageOf(final),
    findings: sayings.map(findingOf),
    bypasses: sayings.flatMap(({ bypass }) => bypass ?? []),
    ...(ask === undefined ? {} : { ask }),
    ...(args !== request.args && (effect === 'modify' || effect === 'ask') ? { modifiedArgs: args } : {}),
  };
}

/** What each rule says, most important first, and the arguments as enforcing rules leave them. */
function said(
  rules: readonly DecisionRule[],
  request: DecisionRequest,
  facts: DecisionFacts,
  nowMs: number,
  allowance: StepAllowance,
) {
  const view = callView(request, facts, nowMs);
  // The most important rule is asked first: it must not find the allowance spent.
  const answers = [...rules]
    .sort(byPriority)
    .map((rule) => ({ rule, answer: asked(rule, view, facts, allowance) }))
    .reverse();
  const sayings: Saying[] = [];
  let args = request.args;
  // The most important rule changes arguments last, so that nobody undoes what it did.
  for (const { rule, answer } of answers) {
    if (answer === null) continue;
    const one = withMeasurement(saying(rule, answer, args, facts, request), view);
    if (one.effect.kind === 'modify' && rule.mode === 'enforce') args = one.effect.args;
    sayings.push(one);
  }
  return { sayings: sayings.reverse(), args };
}

function askOf(final: Saying | undefined): Ask | undefined {
  if (final?.effect.kind !== 'ask') return undefined;
  const { rule, effect } = final;
  return {
    ruleId: rule.id,
    ruleVersion: rule.version,
    title: effect.title ?? rule.name,
    expiresInSeconds: effect.expiresInSeconds,
  };
}

const TOLD: Readonly<Record<Exclude<DecisionEffect, 'allow'>, string>> = {
  modify: 'Arguments changed by rule',
  ask: 'A human has to approve this call, by rule',
  block: 'Blocked by rule',
  terminate: 'The run is ended by rule',
};

function messageOf(final: Saying | undefined): string {
  if (final === undefined || final.effect.kind === 'allow') return 'Allowed';
  const { effect, rule } = final;
  const own = effect.kind === 'block' || effect.kind === 'terminate' ? effect.message : undefined;
  return own ?? `${TOLD[effect.kind]} "${rule.name}"`;
}
