import type { DecisionPhase, DecisionRequest, GuardrailRule, RuleSelector } from '@agentlens/contracts';
import type { ActionEffect } from '../catalog/action-module.ts';
import type { CallMeasurement, CallPart, DataFlow, EventFeed } from '../catalog/condition-module.ts';
import type { ActiveRollout } from '../rules/rollout.ts';
import type { DecisionAnswer } from './answer.ts';
import type { CallFacts, ConditionNeeds } from './facts.ts';

/** Fields of a rule that evaluation needs. Excludes the action config, so that no secret stays in memory. */
export interface RuleIdentity extends Fields {
  /** The version to which approvals are bound. */
  readonly meaningVersion: number;
}

type Fields = Pick<
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

/** A selector with case-folded names. */
export type Selects = Omit<RuleSelector, 'phases'>;

/** A rule about calls, prepared for evaluation: condition and action resolved, configs parsed, patterns compiled. */
export interface DecisionRule extends RuleIdentity {
  readonly cadence: 'call';
  readonly mode: 'enforce' | 'shadow';
  /** Set for a canary rule: it is enforced for this share of the calls, and otherwise in shadow. */
  readonly rollout?: ActiveRollout | undefined;
  readonly onMissing: GuardrailRule['onMissing'];
  readonly onUnavailable: GuardrailRule['onUnavailable'];
  readonly phases: readonly DecisionPhase[];
  readonly selects: Selects;
  /** True if its condition reads other calls, which then have to be counted even if the rule does not apply to them. */
  readonly counts: boolean;
  /** True if the calls of every agent have to be counted, even if the rule is about one agent. */
  readonly countsEveryAgent: boolean;
  /** Parts of a call that its condition reads. */
  readonly reads: readonly CallPart[];
  /** True if its action works on the arguments. */
  readonly changesArguments: boolean;
  /** True if its action asks a person. */
  readonly asksPeople: boolean;
  /** Series that events feed for this rule. */
  readonly feeds: readonly EventFeed[];
  /** Returns true if its answers about later calls depend on this call. */
  countsCall(call: Pick<DecisionRequest, 'tool'>): boolean;
  needs(request: DecisionRequest): ConditionNeeds;
  answer(facts: CallFacts): DecisionAnswer;
  /** The measured value after `answer` returned true; null if the match does not come from a number. */
  measured(facts: CallFacts): CallMeasurement | null;
  /** The data flow behind a match; null if the match has another cause. */
  flow(facts: CallFacts): DataFlow | null;
  effect(args: unknown): ActionEffect;
}

/** Orders by priority, highest first, then by id, so that the order of rules does not affect the answer. */
export function byPriority(a: RuleIdentity, b: RuleIdentity): number {
  return b.priority - a.priority || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
