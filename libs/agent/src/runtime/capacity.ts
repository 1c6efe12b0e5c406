/** What one process holds at most; beyond it, `capacity`. */
export interface RuntimeLimits {
  readonly sessions: number;
  /** Generations of sub-agents. */
  readonly depth: number;
  readonly childrenPerSession: number;
  readonly inbox: number;
  /** Events kept per session for readers. */
  readonly events: number;
}

export const DEFAULT_RUNTIME_LIMITS: RuntimeLimits = {
  sessions: 10_000,
  depth: 5,
  childrenPerSession: 32,
  inbox: 64,
  events: 1_024,
};

/** Limits of one run, kept by the circuit breaker. */
export interface RunLimits {
  /** Model calls. Default 10. */
  readonly maxSteps: number;
  readonly maxTokens: number;
  readonly maxCostUsd: number;
  /** Failures in a row of model or tool calls. */
  readonly maxConsecutiveFailures: number;
}
