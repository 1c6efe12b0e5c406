// Types shared with the platform, written out so that the published types need no schema library. A spec compares each
// with the platform's own schema.

/** When the decision is made: before or after a tool call, or before a model call. */
export type DecisionPhase = 'tool.before' | 'tool.after' | 'llm.before';

/** The user a run acts for. Metadata values are text; rules read them as end-user tags. */
export interface Actor {
  readonly externalId: string;
  readonly name?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Something a call concerns, such as a customer or an account. */
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

/** A rule, budget or breaker that could not be evaluated, and the effect. Rule `*`: none could be. */
export interface RuleBypass {
  readonly ruleId: string;
  readonly why: 'missing' | 'unavailable' | 'deadline' | 'error' | 'canary_unit';
  readonly did: 'allow' | 'block';
}

/**
 * Limits of a circuit breaker. Reaching a limit is allowed; exceeding it trips. Tokens and iterations are counts, cost
 * is USD.
 */
export interface BreakerLimits {
  readonly maxTokens: number;
  readonly maxIterations: number;
  readonly maxCostUsd: number;
  readonly maxConsecutiveFailures: number;
  /** Trips when confidence falls by more than this over the last `confidenceWindow` reports; null: not monitored. */
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

/** The share of runs, sessions, users or agents for which a canary rule is enforced. */
export interface Rollout {
  readonly percent: number;
  readonly by?: 'tree' | 'run' | 'session' | 'actor' | 'agent' | undefined;
}

/** A rule as the agent's process evaluates it: which calls it selects, and its result. */
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
  /**
   * For a canary rule, the share of calls that it is enforced for. `askServer` is then for versions that do not know
   * this field.
   */
  readonly rollout?: Rollout | undefined;
  /** Only the server knows whether it applies to this agent. */
  readonly askServer?: true | undefined;
}

/** The decision rules of one agent, as the server signs them. */
export interface RuleBundle {
  readonly agentId: string;
  /** Increases with every change; an older version never replaces a newer one. */
  readonly version: number;
  readonly ttlSeconds: number;
  /** Phases that the server must see even if no rule applies: budgets, or a history that a rule reads. */
  readonly askAlways: readonly DecisionPhase[];
  readonly rules: readonly BundledRule[];
  readonly breakerLimits?: BreakerLimits | undefined;
  /** The tenant disables the breaker unless limits are configured. */
  readonly defaultBreaker?: 'off' | undefined;
}
