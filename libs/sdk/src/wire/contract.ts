// What the SDK shares with the platform, spelled out so that its published types need no schema library. A spec holds
// each to the platform's own schema.

/** The moment that is asked about: before or after a tool call, or before a model call. */
export type DecisionPhase = 'tool.before' | 'tool.after' | 'llm.before';

/** On whose behalf a run acts. Metadata values are text; rules read them as end-user tags. */
export interface Actor {
  readonly externalId: string;
  readonly name?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Something a call is about, such as a customer or an account. */
export interface Subject {
  readonly subjectType: string;
  readonly value: string;
  readonly role?: string | undefined;
  readonly idSystem?: string | undefined;
}

/** A tripped breaker and a pause are lockdowns; a spent budget is a rule. */
export type DecisionCause =
  | { readonly kind: 'ALLOW' }
  | { readonly kind: 'RULE_VIOLATION'; readonly ruleId: string }
  | { readonly kind: 'HITL_PENDING'; readonly approvalId: string; readonly ruleId?: string | undefined }
  | { readonly kind: 'LOCKDOWN'; readonly lockdownId?: string | undefined };

/** A rule (or a budget, or a breaker) that could not be evaluated, and what was done instead. Rule `*`: none could. */
export interface RuleBypass {
  readonly ruleId: string;
  readonly why: 'missing' | 'unavailable' | 'deadline' | 'error';
  readonly did: 'allow' | 'block';
}

/** Caps of a circuit breaker. At a cap is not over it; over is. Tokens and iterations are counts, cost is USD. */
export interface BreakerLimits {
  readonly maxTokens: number;
  readonly maxIterations: number;
  readonly maxCostUsd: number;
  readonly maxConsecutiveFailures: number;
  /** Trips when confidence falls by more than this over the last `confidenceWindow` reports; null: not watched. */
  readonly maxConfidenceDrop: number | null;
  readonly confidenceWindow: number;
  /** How long an open breaker waits before it lets one probe through; null: only a reset closes it. */
  readonly probeAfterSeconds: number | null;
}

/** Why a breaker is open. */
export type BreakerReason = 'tokens' | 'iterations' | 'cost' | 'failures' | 'confidence' | 'operator';

/** Instants are RFC 3339. */
export type BreakerState =
  | { readonly kind: 'closed' }
  | { readonly kind: 'open'; readonly openedAt: string; readonly reason: BreakerReason }
  | {
      readonly kind: 'half_open';
      readonly openedAt: string;
      readonly reason: BreakerReason;
      /** The one call that is let through. */
      readonly probe: string;
    };

/** A rule as the agent's own process evaluates it: what it selects of the agent's calls, and what it says of them. */
export interface BundledRule {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly mode: 'enforce' | 'shadow';
  readonly priority: number;
  readonly onMissing: 'allow' | 'block';
  readonly onUnavailable: 'allow' | 'block';
  readonly phases: readonly DecisionPhase[];
  readonly selector?:
    | {
        readonly tools?: readonly string[] | undefined;
        readonly toolTagsAll?: readonly string[] | undefined;
        readonly toolTagsAny?: readonly string[] | undefined;
      }
    | undefined;
  readonly conditionType: string;
  readonly conditionConfig: Readonly<Record<string, unknown>>;
  readonly actionType: string;
  readonly actionConfig: Readonly<Record<string, unknown>>;
  /** Only the server can tell whether it is about this agent. */
  readonly askServer?: true | undefined;
}

/** The decision rules of one agent, as the server signs them. */
export interface RuleBundle {
  readonly agentId: string;
  /** Rises with every change; an older one never replaces a newer one. */
  readonly version: number;
  readonly ttlSeconds: number;
  /** Phases the server must hear of even where no rule applies: budgets, or a history that some rule reads. */
  readonly askAlways: readonly DecisionPhase[];
  readonly rules: readonly BundledRule[];
  readonly breakerLimits?: BreakerLimits | undefined;
  /** The tenant wants no breaker where nobody set limits. */
  readonly defaultBreaker?: 'off' | undefined;
}
