import type { BreakerLimits } from '@agentlens/contracts';
import { DEFAULT_BREAKER_LIMITS, NO_BREAKER_LIMITS } from '@agentlens/guardrails';

/** The limits a tenant set. */
export interface TenantLimits {
  readonly tenant?: BreakerLimits;
  readonly agents: ReadonlyMap<string, BreakerLimits>;
  readonly runs: ReadonlyMap<string, BreakerLimits>;
  /** Where nobody set limits there are none. */
  readonly defaultBreaker?: 'off';
}

/** Which limits hold for a run: its own, else its agent's, else its tenant's, else the defaults, if those are on. */
export function runLimits(limits: TenantLimits | undefined, agentId: string, runId: string): BreakerLimits {
  const defaults = limits?.defaultBreaker === 'off' ? NO_BREAKER_LIMITS : DEFAULT_BREAKER_LIMITS;
  return limits?.runs.get(runId) ?? limits?.agents.get(agentId) ?? limits?.tenant ?? defaults;
}

/** True where somebody set limits of any scope. */
export function hasLimits(limits: TenantLimits | undefined): boolean {
  return limits !== undefined && (limits.tenant !== undefined || limits.agents.size > 0 || limits.runs.size > 0);
}

/** True where somebody set limits that hold for the run: then its events alone can open its breaker. */
export function isLimited(limits: TenantLimits | undefined, agentId: string, runId: string): boolean {
  return limits !== undefined && (limits.runs.has(runId) || agentLimits(limits, agentId) !== null);
}

/**
 * What an agent's own breaker watches: failures in a row and falling confidence, over all its runs. Sums have no meaning
 * over the life of an agent; there, budgets do. Null where nobody set limits: an agent is never locked out by default.
 */
export function agentLimits(limits: TenantLimits | undefined, agentId: string): BreakerLimits | null {
  const own = limits?.agents.get(agentId) ?? limits?.tenant;
  if (own === undefined) return null;
  const endless = Number.POSITIVE_INFINITY;
  return { ...own, maxTokens: endless, maxIterations: endless, maxCostUsd: endless };
}
