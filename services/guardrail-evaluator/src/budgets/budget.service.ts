import { type Budget, type DecisionRequest, hasHappened } from '@agentlens/contracts';
import { spenderOf } from '@agentlens/guardrails';
import type { TenantSettingsCache } from '@agentlens/platform';
import { RecentMap } from '@agentlens/state';
import { type AppliedBudget, applying, holdersOf, reservationOf } from './accounts.ts';
import type { SeededBudgetStore } from './seeded-budget-store.ts';

/** A reservation that is not settled is released after this time. The model gateway renews that of a longer call. */
export const HELD_MS = 10 * 60_000;

/** How long the budgets of a run's tree are taken for joined. After a loss of the store they are joined again. */
const JOINED_MS = 30_000;
const MAX_JOINED = 20_000;

interface BudgetServiceDependencies {
  readonly budgetStore: SeededBudgetStore;
  readonly budgets: Pick<TenantSettingsCache<readonly Budget[]>, 'of'>;
}

/** Finds the budgets that apply to a question and checks them. */
export class BudgetService {
  readonly #parts: BudgetServiceDependencies;
  readonly #joined = new RecentMap<true>(() => performance.now(), { ttlMs: JOINED_MS, maxEntries: MAX_JOINED });

  constructor(parts: BudgetServiceDependencies) {
    this.#parts = parts;
  }

  /**
   * Looks up the session of the run; null if the run is its own session as far as is known.
   * @throws StateUnavailable
   */
  async sessionOf({ tenantId, runId }: DecisionRequest): Promise<{ readonly sessionId: string } | null> {
    const known = await this.#parts.budgetStore.sessionOf(tenantId, runId);
    return known === null ? null : { sessionId: known };
  }

  /** Returns true if a budget needs the session and the question does not name it. */
  needsSession({ tenantId, sessionId, phase }: DecisionRequest): boolean {
    if (sessionId !== undefined || hasHappened(phase)) return false;
    return this.#parts.budgets.of(tenantId)?.some(({ scope, enabled }) => scope === 'session' && enabled) === true;
  }

  applying(request: DecisionRequest): readonly AppliedBudget[] {
    const budgets = this.#parts.budgets.of(request.tenantId);
    if (budgets === undefined) return [];
    const applied = applying(budgets, spenderOf(request), Date.parse(request.receivedAt));
    // The gateway has replaced an estimate of 0 for a model that has a price.
    const isFree = request.estimate?.costUsd === 0;
    return isFree ? applied.filter(({ budget }) => budget.freeCalls === 'block') : applied;
  }

  /**
   * Returns the first budget that is spent, or that blocks after a call without a price, or null. A call without an estimate costs nothing by itself, so money reserved by
   * other calls still counts as available.
   * @throws StateUnavailable
   */
  async spent(request: DecisionRequest, applied: readonly AppliedBudget[], nowMs: number): Promise<Budget | null> {
    await this.#joinTree(request, applied);
    const accounts = applied.map(({ account }) => account);
    const balances = await this.#parts.budgetStore.balances(request.tenantId, accounts, nowMs);
    const at = applied.findIndex(({ account }, index) => {
      const { spentUsd = 0, unpricedCalls = 0 } = balances[index] ?? {};
      return spentUsd >= account.limitUsd || (account.onUnpriced === 'block' && unpricedCalls > 0);
    });
    return applied[at]?.budget ?? null;
  }

  /**
   * Reserves the estimate in all budgets or in none. That of a call that runs replaces its earlier one.
   * @throws StateUnavailable
   */
  async reserve(
    request: DecisionRequest,
    estimateUsd: number,
    applied: readonly AppliedBudget[],
    { decisionId, argsHash: question }: { readonly decisionId: string; readonly argsHash: string },
    nowMs: number,
  ): Promise<{ readonly reservationId: string } | { readonly refusedBy: Budget | null }> {
    await this.#joinTree(request, applied);
    const { tenantId, runId, callId } = request;
    const reservationId = callId === undefined ? decisionId : reservationOf({ runId, callId });
    const answer = await this.#parts.budgetStore.reserve({
      ...{ tenantId, reservationId, question, estimateUsd, nowMs, expiresAtMs: nowMs + HELD_MS },
      ...(request.grows === true ? { replaces: true } : {}),
      ...{ accounts: applied.map(({ account }) => account), holders: holdersOf(request) },
    });
    if (answer.kind === 'reserved') return { reservationId };
    return { refusedBy: applied.find(({ budget }) => budget.id === answer.budgetId)?.budget ?? null };
  }

  /**
   * Joins the budgets of the run and its ancestors, once a minute for each run.
   * @throws if the tree of the run is not known
   */
  async #joinTree(
    { tenantId, runId, ancestors = [], ancestorsUnknown }: DecisionRequest,
    applied: readonly AppliedBudget[],
  ): Promise<void> {
    if (!applied.some(({ account }) => account.ofTree === true)) return;
    if (ancestorsUnknown === true) throw new Error('the run tree is unknown');
    const line = [runId, ...ancestors];
    const name = JSON.stringify([tenantId, ...line]);
    if (ancestors.length === 0 || this.#joined.get(name) !== undefined) return;
    const links = ancestors.map((parentRunId, at) => ({ runId: line[at] ?? runId, parentRunId }));
    await this.#parts.budgetStore.joinTrees(tenantId, links);
    this.#joined.set(name, true);
  }
}
