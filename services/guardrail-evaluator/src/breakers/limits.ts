import type { BreakerLimits } from '@agentlens/contracts';
import { type BreakerRef, DEFAULT_BREAKER_LIMITS, NO_BREAKER_LIMITS } from '@agentlens/guardrails';

/** The breaker limits of a tenant. */
export interface TenantLimits {
  readonly tenant?: BreakerLimits;
  readonly agents: ReadonlyMap<string, BreakerLimits>;
  readonly runs: ReadonlyMap<string, BreakerLimits>;
  /** Of each run tree. By default trees have no limits. */
  readonly tree?: BreakerLimits;
  /** `off`: no default limits apply where none are set. */
  readonly defaultBreaker?: 'off';
}

/** The limits of a run: its own, or else its agent's, its tenant's, or the defaults if they are on. */
export function runLimits(limits: TenantLimits | undefined, agentId: string, runId: string): BreakerLimits {
  const defaults = limits?.defaultBreaker === 'off' ? NO_BREAKER_LIMITS : DEFAULT_BREAKER_LIMITS;
  return limits?.runs.get(runId) ?? limits?.agents.get(agentId) ?? limits?.tenant ?? defaults;
}

/** Returns true if the tenant set limits of any scope. */
export function hasLimits(limits: TenantLimits | undefined): boolean {
  if (limits === undefined) return false;
  return limits.tenant !== undefined || limits.tree !== undefined || limits.agents.size > 0 || limits.runs.size > 0;
}

/** The limits that a breaker is judged by; null if nothing can open it but an operator. */
export function limitsOf(limits: TenantLimits | undefined, { scope, scopeId }: BreakerRef, agentId: string) {
  if (scope === 'tree') return limits?.tree ?? null;
  return scope === 'agent' ? agentLimits(limits, scopeId) : runLimits(limits, agentId, scopeId);
}

/** Returns true if limits were set that apply to the run. Its events alone can then open its breaker. */
export function isLimited(limits: TenantLimits | undefined, agentId: string, runId: string): boolean {
  return limits !== undefined && (limits.runs.has(runId) || agentLimits(limits, agentId) !== null);
}

/**
 * The limits of an agent's own breaker: consecutive failures and low confidence over all its runs. Sums make no sense
 * over the lifetime of an agent; use budgets for that. Null if no limits were set: by default an agent is never locked
 * out.
 */
export function agentLimits(limits: TenantLimits | undefined, agentId: string): BreakerLimits | null {
  const own = limits?.agents.get(agentId) ?? limits?.tenant;
  if (own === undefined) return null;
  const endless = Number.POSITIVE_INFINITY;
  return { ...own, maxTokens: endless, maxIterations: endless, maxCostUsd: endless };
}
