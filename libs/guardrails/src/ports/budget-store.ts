/** Account of a budget: for one run, session, agent, end user or tenant, in one period. */
export interface BudgetAccount {
  readonly budgetId: string;
  /** Id of the run, a run of the tree, session, agent, end user or tenant. */
  readonly scopeId: string;
  /** The scope is a run tree: the account is that of the whole tree of the run `scopeId`, see `joinTrees`. */
  readonly ofTree?: true;
  /** First day of the period, `YYYY-MM-DD`; `1970-01-01` if the period never restarts. */
  readonly periodStart: string;
  /** How long the account is kept after its last use. */
  readonly keptMs: number;
}

/** An account that is charged. */
export interface ChargedAccount extends BudgetAccount {
  /** What a call without a known price counts: see `Budget.onUnpriced`. */
  readonly onUnpriced: 'allow' | 'estimate' | 'block';
}

export interface ReserveRequest {
  readonly tenantId: string;
  /** Groups calls under one id; their settlements refer to it. */
  readonly reservationId: string;
  /**
   * Distinguishes calls with the same reservation id, together with the estimate. Repeating an open one returns the
   * same reservation and holds nothing twice. A different one, or one after settlement, is held separately.
   */
  readonly question: string;
  readonly estimateUsd: number;
  /**
   * The estimate replaces that of the open call with this question, so that a reservation grows with its call. If it is
   * refused, the earlier one stays.
   */
  readonly replaces?: true;
  readonly accounts: readonly (ChargedAccount & { readonly limitUsd: number })[];
  /** Names whose `release` releases this reservation, such as its run. */
  readonly holders?: readonly string[];
  readonly nowMs: number;
  /** An orphaned reservation is released by then. */
  readonly expiresAtMs: number;
}

export type ReserveAnswer =
  | { readonly kind: 'reserved'; readonly expiresAtMs: number }
  /**
   * The budget is exhausted, the estimate exceeds what is left, or the account blocks after a call without a price.
   * Nothing was held in any account.
   */
  | { readonly kind: 'refused'; readonly budgetId: string }
  /** The store has no data for this tenant (it is new, or lost its data): call `seed`. */
  | { readonly kind: 'unseeded' };

/** An actual cost. */
export interface Spending {
  /** Settles the oldest open call of this reservation, in the accounts it was held in. */
  readonly reservationId?: string;
  /** Id of the event, for deduplication. Absent if a command settles the reservation. */
  readonly eventId?: string;
  /** Null if unknown: the estimate is charged, or nothing without a reservation. */
  readonly costUsd: number | null;
  /**
   * The call has no known price. `estimateUsd` is what it costs at most, or 0 if that is unknown too; accounts that
   * count estimates are charged with it, or with the estimate of the reservation if it is 0.
   */
  readonly unpriced?: { readonly estimateUsd: number };
  /** Accounts to charge if there is no such reservation. */
  readonly accounts: readonly ChargedAccount[];
}

/** `repeated`: it was counted before. `unknown`: a command refers to a reservation that does not exist. */
export type SpendAnswer = 'settled' | 'charged' | 'repeated' | 'unknown';

export interface AccountBalance {
  readonly spentUsd: number;
  /** Reserved and not yet settled. */
  readonly heldUsd: number;
  /** Calls without a known price. */
  readonly unpricedCalls: number;
  /** Part of `spentUsd` that was estimated for them. */
  readonly estimatedUsd: number;
}

/** A cost charged to one account, not yet in the ledger. */
export interface LedgerEntry {
  /** Id of the entry, for `recorded`. */
  readonly id: string;
  readonly budgetId: string;
  readonly scopeId: string;
  readonly periodStart: string;
  readonly reservationId: string;
  readonly estimateUsd: number;
  readonly costUsd: number;
  readonly settledAtMs: number;
  /** The call had no known price; the cost is an estimate. */
  readonly unpriced: boolean;
}

export interface SeededAccount extends BudgetAccount {
  readonly spentUsd: number;
  readonly unpricedCalls?: number;
  readonly estimatedUsd?: number;
}

/** A run and the run that started it. */
export interface TreeLink {
  readonly runId: string;
  readonly parentRunId: string;
}

/**
 * Spent and reserved money, in millionths of a dollar, rounded up. Every method is atomic across all accounts it names:
 * a reservation is made in all of them or in none.
 */
export interface BudgetStore {
  reserve(request: ReserveRequest): Promise<ReserveAnswer>;
  /** Returns null if the tenant is unseeded. */
  balances(
    tenantId: string,
    accounts: readonly BudgetAccount[],
    nowMs: number,
  ): Promise<readonly AccountBalance[] | null>;
  /**
   * Returns null, counting nothing, if the tenant is unseeded. Each spending is counted once, however often it is
   * submitted.
   */
  spend(tenantId: string, spendings: readonly Spending[], nowMs: number): Promise<readonly SpendAnswer[] | null>;
  /**
   * Releases what these holders have reserved and not settled. A cost that is reported later is still charged. Works in
   * bounded steps; does nothing for names without reservations.
   */
  release(tenantId: string, holders: readonly string[], nowMs: number): Promise<void>;
  /** Initializes accounts that the store does not have with the amounts from the ledger. */
  seed(tenantId: string, accounts: readonly SeededAccount[]): Promise<void>;
  /** Declares the tenant's data complete; accounts that do not exist from now on are new. */
  seeded(tenantId: string): Promise<void>;
  /** Remembers for a week which session runs belong to. Events name the session; decision requests often do not. */
  noteSessions(
    tenantId: string,
    runs: readonly { readonly runId: string; readonly sessionId: string }[],
  ): Promise<void>;
  /** Returns null if the session is unknown. */
  sessionOf(tenantId: string, runId: string): Promise<string | null>;
  /**
   * Joins the trees of runs and their parents. Their accounts are merged: nothing that was spent or held is lost or
   * counted twice, reservations settle where their money is, and the ledger gets balancing entries. Idempotent;
   * remembered for a week after the last call.
   * @returns false, joining nothing, if the tenant is unseeded
   */
  joinTrees(tenantId: string, links: readonly TreeLink[], nowMs: number): Promise<boolean>;
  /** Returns entries that are not yet in the ledger, oldest first. */
  unrecorded(tenantId: string, limit: number): Promise<readonly LedgerEntry[]>;
  recorded(tenantId: string, ids: readonly string[]): Promise<void>;
}
