import type {
  AccountBalance,
  BudgetAccount,
  BudgetStore,
  ReserveRequest,
  SpendAnswer,
  Spending,
  TreeLink,
} from '@agentlens/guardrails';
import { SingleFlight, StateUnavailable } from '@agentlens/state';
import type { BudgetsRepository } from './budgets.repository.ts';

/** If one question needs more than this many refills, the store does not keep its data. */
const MAX_REFILLS = 2;
/** Accounts per seeding call. */
const MAX_SEEDED_ACCOUNTS = 500;

export type Reserved = Exclude<Awaited<ReturnType<BudgetStore['reserve']>>, { kind: 'unseeded' }>;

/**
 * Budget store that is seeded from the ledger when it is new or has lost its data, so that an emptied cache does not
 * allow money to be spent twice. Seeding runs once per loss; only then do callers wait for Postgres.
 */
export class SeededBudgetStore {
  readonly #store: BudgetStore;
  readonly #ledger: Pick<BudgetsRepository, 'spent' | 'record'>;
  readonly #now: () => number;
  readonly #spent: (tenantId: string) => void;
  readonly #filling = new SingleFlight<void>();

  /** @param spent called after each change that may have left entries for the ledger in the store */
  constructor(
    store: BudgetStore,
    ledger: Pick<BudgetsRepository, 'spent' | 'record'>,
    now: () => number,
    spent: (tenantId: string) => void,
  ) {
    this.#store = store;
    this.#ledger = ledger;
    this.#now = now;
    this.#spent = spent;
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

  async spend(tenantId: string, spendings: readonly Spending[], nowMs: number): Promise<readonly SpendAnswer[]> {
    const answers = await this.#filled(tenantId, () => this.#store.spend(tenantId, spendings, nowMs));
    this.#spent(tenantId);
    return answers;
  }

  /** Nothing is held in a store without data, so it is not seeded for this. */
  async release(tenantId: string, holders: readonly string[]): Promise<void> {
    if (holders.length > 0) await this.#store.release(tenantId, holders, this.#now());
  }

  sessionOf(tenantId: string, runId: string): Promise<string | null> {
    return this.#store.sessionOf(tenantId, runId);
  }

  noteSessions(...call: Parameters<BudgetStore['noteSessions']>): Promise<void> {
    return this.#store.noteSessions(...call);
  }

  /**
   * Joins trees, and moves what was spent by the tree of a run to that of its parent.
   * @throws StateUnavailable
   */
  async joinTrees(tenantId: string, links: readonly TreeLink[]): Promise<void> {
    await this.#filled(tenantId, async () => (await this.#store.joinTrees(tenantId, links, this.#now())) || null);
    this.#spent(tenantId);
  }

  /**
   * Runs `ask`, and runs it again after seeding if the store did not hold the tenant's money. The store may lose it
   * again in the meantime. The number of refills is bounded, so that a store that keeps nothing does not make every
   * question read the ledger.
   * @throws StateUnavailable
   */
  async #filled<T>(tenantId: string, ask: () => Promise<T | null>): Promise<T> {
    for (let refills = 0; ; refills++) {
      const answer = await ask();
      if (answer !== null) return answer;
      if (refills === MAX_REFILLS) throw new StateUnavailable('budgets', 'the store does not keep its data');
      await this.#filling.run(tenantId, () => this.#fill(tenantId));
    }
  }

  /** Several instances may seed at once: each account is seeded once, before any caller can spend from it. */
  async #fill(tenantId: string): Promise<void> {
    // Entries waiting in the store are spent too. An earlier release may have left nothing else there.
    await carryOver(this.#store, this.#ledger, tenantId);
    const accounts = await this.#ledger.spent(tenantId, this.#now());
    for (let from = 0; from < accounts.length; from += MAX_SEEDED_ACCOUNTS) {
      await this.#store.seed(tenantId, accounts.slice(from, from + MAX_SEEDED_ACCOUNTS));
    }
    await this.#store.seeded(tenantId);
  }
}

/** Entries moved per call. */
const MAX_CARRIED_ENTRIES = 500;

/** Moves a tenant's spending from the store into the ledger, oldest first, until no entry is waiting. */
export async function carryOver(
  store: Pick<BudgetStore, 'unrecorded' | 'recorded'>,
  ledger: Pick<BudgetsRepository, 'record'>,
  tenantId: string,
): Promise<void> {
  for (;;) {
    const entries = await store.unrecorded(tenantId, MAX_CARRIED_ENTRIES);
    if (entries.length === 0) return;
    await ledger.record(tenantId, entries);
    const ids = entries.map(({ id }) => id);
    await store.recorded(tenantId, ids);
    if (entries.length < MAX_CARRIED_ENTRIES) return;
  }
}
