/** One pot of money: a budget, for one run, session, agent, end user or tenant, in one period. */
export interface BudgetAccount {
  readonly budgetId: string;
  /** Whose pot it is. */
  readonly scopeId: string;
  /** First day of the period, `YYYY-MM-DD`; `1970-01-01` where it never starts again. */
  readonly periodStart: string;
  /** How long the pot is kept after it was last touched. */
  readonly keptMs: number;
}

export interface ReserveRequest {
  readonly tenantId: string;
  /** Names the calls that go by one id; their ends are told under it. */
  readonly reservationId: string;
  /**
   * Tells calls of one id apart, together with the estimate. The same again, while it is open, answers the same
   * reservation and takes nothing twice; another one, or one after the end, is held beside.
   */
  readonly question: string;
  readonly estimateUsd: number;
  readonly accounts: readonly (BudgetAccount & { readonly limitUsd: number })[];
  readonly nowMs: number;
  /** An orphan gives its money back by then. */
  readonly expiresAtMs: number;
}

export type ReserveAnswer =
  | { readonly kind: 'reserved'; readonly expiresAtMs: number }
  /** This budget is spent, or the estimate does not fit into what it has left; nothing was taken from any. */
  | { readonly kind: 'refused'; readonly budgetId: string }
  /** The store does not hold this tenant's money (it is new, or lost what it had): `seed` it. */
  | { readonly kind: 'unseeded' };

/** Money that was really spent. */
export interface Spending {
  /** Ends the oldest open call of this reservation, in the accounts it was made in. */
  readonly reservationId?: string;
  /** What makes two of them the same: an event's id. Absent: ends the reservation by command. */
  readonly eventId?: string;
  /** Null: not known, the estimate stands. Without a reservation that is nothing. */
  readonly costUsd: number | null;
  /** Charged where there is no such reservation to end. */
  readonly accounts: readonly BudgetAccount[];
}

/** `repeated`: it was counted before. `unknown`: a command for a reservation that is not there. */
export type SpendAnswer = 'settled' | 'charged' | 'repeated' | 'unknown';

export interface AccountBalance {
  readonly spentUsd: number;
  /** Reserved and not yet settled. */
  readonly heldUsd: number;
}

/** What was spent from one account, on its way to the ledger. */
export interface LedgerEntry {
  /** Of the entry itself, for `recorded`. */
  readonly id: string;
  readonly budgetId: string;
  readonly scopeId: string;
  readonly periodStart: string;
  readonly reservationId: string;
  readonly estimateUsd: number;
  readonly costUsd: number;
  readonly settledAtMs: number;
}

export interface SeededAccount extends BudgetAccount {
  readonly spentUsd: number;
}

/**
 * Money that was spent and money set aside, counted in millionths of a dollar, rounded up. Every method is one atomic
 * step over all accounts it names: a reservation is made in all of them or in none.
 */
export interface BudgetStore {
  reserve(request: ReserveRequest): Promise<ReserveAnswer>;
  /** Null: unseeded. */
  balances(
    tenantId: string,
    accounts: readonly BudgetAccount[],
    nowMs: number,
  ): Promise<readonly AccountBalance[] | null>;
  /** Null: unseeded, nothing was counted. Each is counted once, in whatever call it comes. */
  spend(tenantId: string, spendings: readonly Spending[], nowMs: number): Promise<readonly SpendAnswer[] | null>;
  /** Gives accounts that the store does not hold what the ledger says was spent from them. */
  seed(tenantId: string, accounts: readonly SeededAccount[]): Promise<void>;
  /** Declares the tenant's money complete; accounts that are not there from now on are new. */
  seeded(tenantId: string): Promise<void>;
  /** Remembers for a week which session runs belong to: their events say so, questions about them often do not. */
  noteSessions(
    tenantId: string,
    runs: readonly { readonly runId: string; readonly sessionId: string }[],
  ): Promise<void>;
  /** Null: nothing is known. */
  sessionOf(tenantId: string, runId: string): Promise<string | null>;
  /** What is not yet in the ledger, oldest first. */
  unrecorded(tenantId: string, limit: number): Promise<readonly LedgerEntry[]>;
  recorded(tenantId: string, ids: readonly string[]): Promise<void>;
}
