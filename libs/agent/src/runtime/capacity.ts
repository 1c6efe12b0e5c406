import { AgentError } from '../core/agent-error.ts';

/** Limits of one process; beyond them, `capacity`. */
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

const RUN_LIMITS = ['maxSteps', 'maxTokens', 'maxCostUsd', 'maxConsecutiveFailures'] as const;

/**
 * Rejects unknown names: a misspelt limit would have no effect.
 *
 * @throws AgentError `invalid_config` naming the limit
 */
export function checkLimits(limits: object, known: readonly string[], what: string): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!known.includes(name))
      throw new AgentError('invalid_config', `${what}: unknown limit ${name}; allowed are ${known.join(', ')}`);
    if (value !== undefined && !(typeof value === 'number' && value >= 0))
      throw new AgentError('invalid_config', `${what}: ${name} must be 0 or a positive number`);
  }
}

/** @throws AgentError `invalid_config` */
export function checkRunLimits(limits: Partial<RunLimits>): void {
  checkLimits(limits, RUN_LIMITS, 'limits');
}

/** @throws AgentError `invalid_config` */
export function checkRuntimeLimits(limits: Partial<RuntimeLimits>): void {
  checkLimits(limits, Object.keys(DEFAULT_RUNTIME_LIMITS), 'limits of the runtime');
}

/** Limits of one run, enforced by the circuit breaker. */
export interface RunLimits {
  /** Model calls. Default 10. */
  readonly maxSteps: number;
  readonly maxTokens: number;
  readonly maxCostUsd: number;
  /** Consecutive failures of model or tool calls. */
  readonly maxConsecutiveFailures: number;
}
