import type { RuleBody, Run } from '../api/model.ts';

export interface Proposal {
  readonly agentId: string;
  readonly medianUsd: number;
  readonly limitUsd: number;
  /** Ratio of the limit to the most expensive run so far. */
  readonly times: number;
  readonly draft: RuleBody;
}

/** Limits are round numbers. */
const LIMITS_USD = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 500, 1000];
const ROOM = 5;

/** A cost limit well above the runs of the busiest agent. Undefined if no cost is known. */
export function proposalFor(runs: readonly Run[]): Proposal | undefined {
  const costly = runs.filter(({ totals }) => totals.costUsd > 0);
  const byAgent = [...Map.groupBy(costly, ({ agentId }) => agentId)].sort((a, b) => b[1].length - a[1].length);
  const [agentId, own] = byAgent[0] ?? [];
  if (agentId === undefined || own === undefined) return undefined;
  const costs = own.map(({ totals }) => totals.costUsd).sort((a, b) => a - b);
  const medianUsd = costs[Math.floor(costs.length / 2)] ?? 0;
  const dearest = costs.at(-1) ?? 0;
  const limitUsd = LIMITS_USD.find((limit) => limit >= dearest * ROOM) ?? Math.ceil(dearest * ROOM);
  return {
    agentId,
    medianUsd,
    limitUsd,
    times: Math.round(limitUsd / dearest),
    draft: {
      name: `A run of ${agentId} costs more than $${limitUsd}`,
      agentId,
      conditionType: 'cost_limit',
      conditionConfig: { maxCostUsd: limitUsd, scope: 'session' },
      actionType: 'raise_alert',
      actionConfig: { severity: 'warn', title: `A run of ${agentId} costs more than $${limitUsd}` },
      mode: 'shadow',
    },
  };
}
