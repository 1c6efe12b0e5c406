import { type Budget, type BudgetBalance, periodStart } from '@agentlens/contracts';
import { keptMsOf, ofTree } from './accounts.ts';
import type { BudgetsRepository } from './budgets.repository.ts';
import type { SeededBudgetStore } from './seeded-budget-store.ts';

/** Maximum number of accounts reported for one budget. */
const MAX_ACCOUNTS = 100;
export const NOT_FOUND = { ok: false, problem: { error: 'No such budget', status: 404 } } as const;

interface BudgetBalanceDependencies {
  readonly repository: Pick<BudgetsRepository, 'find' | 'spenders'>;
  readonly budgetStore: Pick<SeededBudgetStore, 'balances'>;
  readonly now: () => number;
}

interface Question {
  readonly tenantId: string;
  readonly budgetId: string;
  readonly scopeId?: string | undefined;
}

/**
 * Reports what is spent, reserved and left of a budget in its current period, as decisions see it.
 * @throws StateUnavailable, or an error of Postgres
 */
export async function budgetBalance(
  { repository, budgetStore, now }: BudgetBalanceDependencies,
  { tenantId, budgetId, scopeId }: Question,
): Promise<{ readonly ok: true; readonly value: BudgetBalance } | typeof NOT_FOUND> {
  const budget = isId(budgetId) ? await repository.find(tenantId, budgetId) : null;
  if (budget === null) return NOT_FOUND;
  const nowMs = now();
  const start = periodStart(budget.period, nowMs);
  const only = onlyPot(budget) ?? scopeId;
  const scopeIds = only === undefined ? await repository.spenders(budget, start, MAX_ACCOUNTS) : [only];
  const pot = { budgetId, periodStart: start, keptMs: keptMsOf(budget.period), ...ofTree(budget) };
  const accounts = scopeIds.map((id) => ({ ...pot, scopeId: id }));
  const balances = accounts.length === 0 ? [] : await budgetStore.balances(tenantId, accounts, nowMs);
  const pots = accounts.map(({ scopeId: id }, at) => {
    const { spentUsd = 0, heldUsd = 0, unpricedCalls = 0, estimatedUsd = 0 } = balances[at] ?? {};
    const remainingUsd = Math.max(0, rounded(budget.limitUsd - spentUsd - heldUsd));
    const amounts = { spentUsd, reservedUsd: heldUsd, remainingUsd };
    return { scopeId: id, periodStart: start, ...amounts, unpricedCalls, estimatedUsd };
  });
  return { ok: true, value: { budget, pots } };
}

/** The scope id of a budget with a single account; undefined if each member of its scope has an account. */
function onlyPot({ scope, scopeId, tenantId }: Budget): string | undefined {
  return scope === 'tenant' ? tenantId : scopeId;
}

/** Rounds to billionths, because differences of dollar amounts are inexact in binary fractions. */
function rounded(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}

/** Other ids were never issued, and Postgres would reject some of them. */
export function isId(text: string): boolean {
  return /^[\x21-\x7e]{1,100}$/.test(text);
}
