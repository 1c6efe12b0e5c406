import type { Actor, BundledRule, DecisionPhase, RuleBundle, Subject } from '../wire/contract.ts';
import type { WireDecision } from '../wire/decision.ts';

export type { BundledRule, RuleBundle };

/** What local rules know about a call. */
export interface LocalCall {
  readonly phase: DecisionPhase;
  readonly toolName: string;
  readonly toolTags: readonly string[];
  readonly callId: string;
  readonly runId: string;
  /** The runs above this one, nearest first; undefined while they are unknown. */
  readonly ancestors?: readonly string[] | undefined;
  readonly sessionId?: string | undefined;
  readonly args: unknown;
  readonly result: unknown;
  /** The result is truncated here. */
  readonly cutResult: boolean;
  readonly actor: Actor | undefined;
  readonly subjects: readonly Subject[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly runTags: Readonly<Record<string, string>>;
  /** Unix ms. */
  readonly now: number;
}

export interface LocalJudgement {
  /** Combined result of the stateless rules, most severe first; null if all allow. */
  readonly refusal: Pick<WireDecision, 'control' | 'cause' | 'message' | 'evaluatedRules' | 'finalRuleId'> | null;
  /** A rule that applies needs data that only the server has. */
  readonly ask: boolean;
  /** The rule that blocks this call while the server is unavailable. */
  readonly blocksWhenUnavailable: string | null;
  readonly evaluated: WireDecision['evaluatedRules'];
}

export interface CompiledRules {
  judge(call: LocalCall): LocalJudgement;
}

/** Prepares a bundle's rules once, so that each call is judged from an index. */
export interface LocalRules {
  compile(rules: readonly BundledRule[]): CompiledRules;
}
