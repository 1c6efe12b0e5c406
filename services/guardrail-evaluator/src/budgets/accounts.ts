import { type Budget, DAY_MS, periodStart, sha256Hex } from '@agentlens/contracts';
import type { ChargedAccount } from '@agentlens/guardrails';

/** How long an account is kept after its last use: well past its period, so that late costs still find it. */
const KEPT_MS: Readonly<Record<Budget['period'], number>> = {
  day: 3 * DAY_MS,
  week: 10 * DAY_MS,
  month: 40 * DAY_MS,
  total: 400 * DAY_MS,
};

/** Who spends the money of a call or an event. */
interface Spender {
  readonly tenantId: string;
  readonly agentId: string;
  readonly runId: string;
  /** If absent, the run is its own session. */
  readonly sessionId?: string | undefined;
  readonly actorId?: string | undefined;
}

export interface AppliedBudget {
  readonly budget: Budget;
  readonly account: ChargedAccount & { readonly limitUsd: number };
}

/** The budget accounts that a spender draws on at a given time. */
export function applying(budgets: readonly Budget[], spender: Spender, atMs: number): AppliedBudget[] {
  return budgets.flatMap((budget) => {
    if (!budget.enabled) return [];
    const scopeId = scopeIdOf(budget.scope, spender);
    if (scopeId === undefined || (budget.scopeId !== undefined && budget.scopeId !== scopeId)) return [];
    const { id: budgetId, period, limitUsd, onUnpriced } = budget;
    const start = periodStart(period, atMs);
    const account = { budgetId, scopeId, periodStart: start, keptMs: KEPT_MS[period], limitUsd, onUnpriced };
    return [{ budget, account }];
  });
}

function scopeIdOf(scope: Budget['scope'], spender: Spender): string | undefined {
  switch (scope) {
    case 'run':
      return spender.runId;
    case 'session':
      return spender.sessionId ?? spender.runId;
    case 'agent':
      return spender.agentId;
    case 'actor':
      return spender.actorId;
    case 'tenant':
      return spender.tenantId;
  }
}

export function keptMsOf(period: Budget['period']): number {
  return KEPT_MS[period];
}

/** The reservation id of a call. It can be derived from the question, its retries and the call's event. */
export function reservationOf(call: { readonly runId: string; readonly callId: string }): string {
  return sha256Hex(JSON.stringify([call.runId, call.callId])).slice(0, 32);
}
