import type {
  AccountBalance,
  BudgetAccount,
  BudgetStore,
  ReserveRequest,
  SpendAnswer,
  Spending,
} from '@agentlens/guardrails';
import { SingleFlight, StateUnavailable } from '@agentlens/state';
import type { BudgetsRepository } from './budgets.repository.ts';
import { carryOver } from './carry-over.ts';

/** More than this for one question: the store does not keep what it is given. */
const MOST_FILLINGS = 2;
/** Accounts that one call gives back to the store. */
const PAGE = 500;

export type Reserved = Exclude<Awaited<ReturnType<BudgetStore['reserve']>>, { kind: 'unseeded' }>;

/**
 * The store of money, filled from the ledger where it is new or has lost what it held: nothing is spent twice because a
 * cache was emptied. Filling happens once per loss, and only then does anybody wait for Postgres.
 */
export class SeededBudgetStore {
  readonly #store: BudgetStore;
  readonly #ledger: Pick<BudgetsRepository, 'spent' | 'record'>;
  readonly #now: () => number;
  readonly #filling = new SingleFlight<void>();

  constructor(store: BudgetStore, ledger: Pick<BudgetsRepository, 'spent' | 'record'>, now: () => number) {
    this.#store = store;
    this.#ledger = ledger;
    this.#now = now;
  }

  async reserve(request: ReserveRequest): Promise<Reserved> {
    return this.#filled(request.tenantId, async () => {
      const answer = await this.#store.reserve(request);
      return answer.kind === 'unseeded' ? null : answer;
    });
  }

  balances(tenantId: string, accounts: readonly BudgetAccount[], nowMs: number): Promise<readonly AccountBalance[]> {
    return this.#filled(tenantId, () => this.#store.balances(tenantId, accounts, nowMs));
  }

  spend(tenantId: string, spendings: readonly Spending[], nowMs: number): Promise<readonly SpendAnswer[]> {
    return this.#filled(tenantId, () => this.#store.spend(tenantId, spendings, nowMs));
  }

  sessionOf(tenantId: string, runId: string): Promise<string | null> {
    return this.#store.sessionOf(tenantId, runId);
  }

  noteSessions(...call: Parameters<BudgetStore['noteSessions']>): Promise<void> {
    return this.#store.noteSessions(...call);
  }

  /**
   * Asks, and again after filling if the store did not hold the tenant's money. It may lose it once more meanwhile; a
   * store that keeps nothing must not cost Postgres a reading of the ledger for every question, without end.
   * @throws StateUnavailable
   */
  async #filled<T>(tenantId: string, ask: () => Promise<T | null>): Promise<T> {
    for (let fillings = 0; ; fillings++) {
      const answer = await ask();
      if (answer !== null) return answer;
      if (fillings === MOST_FILLINGS) throw new StateUnavailable('budgets', 'it does not keep what it is given');
      await this.#filling.run(tenantId, () => this.#fill(tenantId));
    }
  }

  /** Several instances may do this at once: an account is given its money once, before anybody may spend from it. */
  async #fill(tenantId: string): Promise<void> {
    // What waits in the store is spent too, and may be all that an earlier release left there.
    await carryOver(this.#store, this.#ledger, tenantId);
    const accounts = await this.#ledger.spent(tenantId, this.#now());
    for (let from = 0; from < accounts.length; from += PAGE) {
      await this.#store.seed(tenantId, accounts.slice(from, from + PAGE));
    }
    await this.#store.seeded(tenantId);
  }
}
