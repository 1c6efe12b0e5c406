import type { Actor, BreakerLimits, DecisionPhase, Subject } from '@agentlens/contracts';
import type { WireDecision } from '../wire/decision.ts';

/** A rule as the bundle carries it: what it selects of this agent's calls, and what it says of them. */
export interface BundledRule {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly mode: 'enforce' | 'shadow';
  readonly priority: number;
  readonly onMissing: 'allow' | 'block';
  /** What this rule does to a call it applies to when it cannot be evaluated because the server is away. */
  readonly onUnavailable: 'allow' | 'block';
  /** When it is asked; resolved by the server. */
  readonly phases: readonly DecisionPhase[];
  readonly selector?: ToolSelector;
  readonly conditionType: string;
  readonly conditionConfig: Readonly<Record<string, unknown>>;
  readonly actionType: string;
  readonly actionConfig: Readonly<Record<string, unknown>>;
}

/** Which calls a rule is about; what is absent does not restrict. Tool patterns know `*` and no case. */
export interface ToolSelector {
  readonly tools?: readonly string[];
  readonly toolTagsAll?: readonly string[];
  readonly toolTagsAny?: readonly string[];
}

/** The rules of one agent, as the server signed them. */
export interface RuleBundle {
  readonly agentId: string;
  /** Rises with every change; an older one never replaces a newer one. */
  readonly version: number;
  /** How long it may be used after it was received, by a clock that only goes forward. */
  readonly ttlSeconds: number;
  /** Phases the server must hear of even where no rule applies: budgets, or a history that some rule reads. */
  readonly askAlways: readonly DecisionPhase[];
  readonly rules: readonly BundledRule[];
  readonly breakerLimits?: BreakerLimits;
}

/** What local rules know of a call. */
export interface LocalCall {
  readonly phase: DecisionPhase;
  readonly toolName: string;
  readonly toolTags: readonly string[];
  readonly callId: string;
  readonly runId: string;
  readonly args: unknown;
  readonly result: unknown;
  readonly actor: Actor | undefined;
  readonly subjects: readonly Subject[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly runTags: Readonly<Record<string, string>>;
  /** Unix ms. */
  readonly now: number;
}

export interface Judgement {
  /** What stateless rules say together, the most severe first; null: nothing but allowing. */
  readonly refusal: Pick<WireDecision, 'control' | 'cause' | 'message' | 'evaluatedRules' | 'finalRuleId'> | null;
  /** Some rule that applies needs what only the server knows. */
  readonly ask: boolean;
  /** The rule that blocks this call while the server is away. */
  readonly blocksWhenUnavailable: string | null;
  readonly evaluated: WireDecision['evaluatedRules'];
}

export interface CompiledRules {
  judge(call: LocalCall): Judgement;
}

/** Makes a bundle's rules ready once, so that each call is judged from an index. */
export interface LocalRules {
  compile(rules: readonly BundledRule[]): CompiledRules;
}
