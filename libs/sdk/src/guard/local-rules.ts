import type { Actor, BundledRule, DecisionPhase, RuleBundle, Subject } from '../wire/contract.ts';
import type { WireDecision } from '../wire/decision.ts';

export type { BundledRule, RuleBundle };

/** What local rules know of a call. */
export interface LocalCall {
  readonly phase: DecisionPhase;
  readonly toolName: string;
  readonly toolTags: readonly string[];
  readonly callId: string;
  readonly runId: string;
  readonly args: unknown;
  readonly result: unknown;
  /** The result is not here whole. */
  readonly cutResult: boolean;
  readonly actor: Actor | undefined;
  readonly subjects: readonly Subject[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly runTags: Readonly<Record<string, string>>;
  /** Unix ms. */
  readonly now: number;
}

export interface LocalJudgement {
  /** What stateless rules say together, the most severe first; null: nothing but allowing. */
  readonly refusal: Pick<WireDecision, 'control' | 'cause' | 'message' | 'evaluatedRules' | 'finalRuleId'> | null;
  /** Some rule that applies needs what only the server knows. */
  readonly ask: boolean;
  /** The rule that blocks this call while the server is away. */
  readonly blocksWhenUnavailable: string | null;
  readonly evaluated: WireDecision['evaluatedRules'];
}

export interface CompiledRules {
  judge(call: LocalCall): LocalJudgement;
}

/** Makes a bundle's rules ready once, so that each call is judged from an index. */
export interface LocalRules {
  compile(rules: readonly BundledRule[]): CompiledRules;
}
