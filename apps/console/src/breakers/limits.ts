import type { BreakerLimits } from '../api/model.ts';

interface Whose {
  /** Absent: the limits that the agent has for each of its runs. */
  readonly runId?: string;
  readonly agentId: string;
}

/** The most specific limits: of the run, the agent, the tenant, or the defaults; or those of each run tree. */
export function limitsFor(whose: Whose | 'tree', known: BreakerLimits): BreakerLimits['defaults'] {
  const of = (scope: string, id?: string) =>
    known.limits.find((one) => one.scope === scope && (id === undefined || one.scopeId === id))?.limits;
  if (whose === 'tree') return of('tree') ?? known.defaults;
  const { runId, agentId } = whose;
  const own = runId === undefined ? undefined : of('run', runId);
  return own ?? of('agent', agentId) ?? of('tenant') ?? known.defaults;
}
