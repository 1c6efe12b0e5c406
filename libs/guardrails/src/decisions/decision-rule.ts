import type { DecisionPhase, DecisionRequest, GuardrailRule, RuleSelector } from '@agentlens/contracts';
import type { ActionEffect } from '../catalog/action-module.ts';
import type { CallMeasurement, CallPart, EventFeed } from '../catalog/condition-module.ts';
import type { RuleIdentity } from '../rules/rule-identity.ts';
import type { DecisionAnswer } from './answer.ts';
import type { CallFacts, ConditionNeeds } from './facts.ts';

/** A selector with its names folded. */
export type Selects = Omit<RuleSelector, 'phases'>;

/** A rule that is asked about calls, made ready: condition and action found, configs parsed, patterns compiled. */
export interface DecisionRule extends RuleIdentity {
  readonly cadence: 'call';
  readonly mode: 'enforce' | 'shadow';
  readonly onMissing: GuardrailRule['onMissing'];
  readonly onUnavailable: GuardrailRule['onUnavailable'];
  readonly phases: readonly DecisionPhase[];
  readonly selects: Selects;
  /** True if its condition looks at other calls, which then have to be counted whichever tool they call. */
  readonly counts: boolean;
  /** What of a call its condition looks at. */
  readonly reads: readonly CallPart[];
  /** True if its action works on the arguments. */
  readonly changesArguments: boolean;
  /** True if its action asks a human. */
  readonly asksPeople: boolean;
  /** Series that events feed for this rule. */
  readonly feeds: readonly EventFeed[];
  needs(request: DecisionRequest): ConditionNeeds;
  answer(facts: CallFacts): DecisionAnswer;
  /** What was measured, where `answer` was yes; null: no number. */
  measured(facts: CallFacts): CallMeasurement | null;
  effect(args: unknown): ActionEffect;
}

/** Most important first; equal priorities by id, so that every order of rules gives the same answer. */
export function byPriority(a: RuleIdentity, b: RuleIdentity): number {
  return b.priority - a.priority || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
