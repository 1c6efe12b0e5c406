import {
  type Budget,
  type ControlOrder,
  DAY_MS,
  type DecisionRequest,
  periodStart,
  sha256Hex,
} from '@agentlens/contracts';
import { type ChargedAccount, payingScope, type Spender } from '@agentlens/guardrails';

/** How long an account is kept after its last use: well past its period, so that late costs still find it. */
const KEPT_MS: Readonly<Record<Budget['period'], number>> = {
  day: 3 * DAY_MS,
  week: 10 * DAY_MS,
  month: 40 * DAY_MS,
  total: 400 * DAY_MS,
};

export interface AppliedBudget {
  readonly budget: Budget;
  readonly account: ChargedAccount & { readonly limitUsd: number };
}

/** The budget accounts that a spender draws on at a given time. */
export function applying(budgets: readonly Budget[], spender: Spender, atMs: number): AppliedBudget[] {
  return budgets.flatMap((budget) => {
    const scopeId = payingScope(budget, spender);
    if (scopeId === undefined) return [];
    const { id: budgetId, period, limitUsd, onUnpriced } = budget;
    const start = periodStart(period, atMs);
    const account = { budgetId, scopeId, periodStart: start, keptMs: KEPT_MS[period], limitUsd, onUnpriced };
    return [{ budget, account: { ...account, ...ofTree(budget) } }];
  });
}

/** Marks accounts of run trees. */
export function ofTree({ scope }: Pick<Budget, 'scope'>): { readonly ofTree?: true } {
  return scope === 'tree' ? { ofTree: true } : {};
}

export function keptMsOf(period: Budget['period']): number {
  return KEPT_MS[period];
}

/** The reservation id of a call. It can be derived from the question, its retries and the call's event. */
export function reservationOf(call: { readonly runId: string; readonly callId: string }): string {
  return sha256Hex(JSON.stringify([call.runId, call.callId])).slice(0, 32);
}

/** Names what holds money: see `ReserveRequest.holders`. */
export function holderOfRun(runId: string): string {
  return `run:${runId}`;
}

/** The run itself or a run above it. */
function holderOfTree(runId: string): string {
  return `tree:${runId}`;
}

/** Everything whose end or kill ends the call of a question. */
export function holdersOf({
  runId,
  agentId,
  ancestors = [],
}: Pick<DecisionRequest, 'runId' | 'agentId' | 'ancestors'>): string[] {
  return [holderOfRun(runId), ...[runId, ...ancestors].map(holderOfTree), `agent:${agentId}`, 'tenant'];
}

/** What an order to kill stops. */
export function holderOfOrder({ scope, scopeId }: Pick<ControlOrder, 'scope' | 'scopeId'>): string {
  if (scope === 'tenant') return 'tenant';
  return scope === 'agent' ? `agent:${scopeId}` : holderOfTree(scopeId);
}
