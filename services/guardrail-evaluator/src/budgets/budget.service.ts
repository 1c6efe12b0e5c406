import type { Budget, DecisionRequest } from '@agentlens/contracts';
import type { TenantSettingsCache } from '../settings/tenant-settings-cache.ts';
import { type AppliedBudget, applying, reservationOf } from './accounts.ts';
import type { SeededBudgetStore } from './seeded-budget-store.ts';

/** An estimate that nobody settles is given back after this long: no model call takes longer. */
const HELD_MS = 10 * 60_000;

interface BudgetServiceDependencies {
  readonly budgetStore: SeededBudgetStore;
  readonly budgets: Pick<TenantSettingsCache<readonly Budget[]>, 'of'>;
}

/** The budgets a question falls under, and what they say. */
export class BudgetService {
  readonly #parts: BudgetServiceDependencies;

  constructor(parts: BudgetServiceDependencies) {
    this.#parts = parts;
  }

  /**
   * The session of the run; null: as far as anybody knows it is a session of its own.
   * @throws StateUnavailable
   */
  async sessionOf({ tenantId, runId }: DecisionRequest): Promise<{ readonly sessionId: string } | null> {
    const known = await this.#parts.budgetStore.sessionOf(tenantId, runId);
    return known === null ? null : { sessionId: known };
  }

  /** True where a budget needs to know the session and the question does not say. */
  needsSession({ tenantId, sessionId, phase }: DecisionRequest): boolean {
    if (sessionId !== undefined || phase === 'tool.after') return false;
    return this.#parts.budgets.of(tenantId)?.some(({ scope, enabled }) => scope === 'session' && enabled) === true;
  }

  applying(request: DecisionRequest): readonly AppliedBudget[] {
    const budgets = this.#parts.budgets.of(request.tenantId);
    if (budgets === undefined) return [];
    const { tenantId, agentId, runId, sessionId, actor } = request;
    const spender = { tenantId, agentId, runId, sessionId, actorId: actor?.externalId };
    return applying(budgets, spender, Date.parse(request.receivedAt));
  }

  /**
   * The first budget that has nothing left; null: all have. A call without estimate costs nothing by itself, so money
   * that others hold is still there.
   * @throws StateUnavailable
   */
  async spent(request: DecisionRequest, applied: readonly AppliedBudget[], nowMs: number): Promise<Budget | null> {
    const accounts = applied.map(({ account }) => account);
    const balances = await this.#parts.budgetStore.balances(request.tenantId, accounts, nowMs);
    const at = applied.findIndex(({ account }, index) => (balances[index]?.spentUsd ?? 0) >= account.limitUsd);
    return applied[at]?.budget ?? null;
  }

  /**
   * Sets the estimate aside in all budgets or in none.
   * @throws StateUnavailable
   */
  async reserve(
    request: DecisionRequest,
    estimateUsd: number,
    applied: readonly AppliedBudget[],
    { decisionId, argsHash: question }: { readonly decisionId: string; readonly argsHash: string },
    nowMs: number,
  ): Promise<{ readonly reservationId: string } | { readonly refusedBy: Budget | null }> {
    const { tenantId, runId, callId } = request;
    const reservationId = callId === undefined ? decisionId : reservationOf({ runId, callId });
    const answer = await this.#parts.budgetStore.reserve({
      ...{ tenantId, reservationId, question, estimateUsd, nowMs, expiresAtMs: nowMs + HELD_MS },
      accounts: applied.map(({ account }) => account),
    });
    if (answer.kind === 'reserved') return { reservationId };
    return { refusedBy: applied.find(({ budget }) => budget.id === answer.budgetId)?.budget ?? null };
  }
}
