import type {
  AccountStanding,
  BudgetAccount,
  BudgetStore,
  LedgerEntry,
  ReserveAnswer,
  ReserveRequest,
  SeededAccount,
  SpendAnswer,
  Spending,
} from '@agentlens/guardrails';
import { LIFETIMES } from '../lifetimes.ts';
import { limitMicrosOf, microsOf, usdOf } from '../micro-dollars.ts';
import { ExpiringMap } from './expiring-map.ts';

interface Account {
  spent: number;
  /** Reservation id -> what it holds and until when. */
  readonly holds: Map<string, { readonly amount: number; readonly expiresAtMs: number }>;
}

interface Held {
  readonly estimate: number;
  readonly accounts: readonly BudgetAccount[];
  /** Absent while it is open; '' where it was ended by command. */
  by?: string;
}

/** Money of one process. Nothing here waits, so every call is one step. */
export class MemoryBudgetStore implements BudgetStore {
  readonly #accounts: ExpiringMap<Account>;
  readonly #reservations: ExpiringMap<Held>;
  readonly #charges: ExpiringMap<true>;
  readonly #sessions: ExpiringMap<string>;
  readonly #seeded = new Set<string>();
  readonly #ledger = new Map<string, Map<string, LedgerEntry>>();
  #entries = 0;

  constructor(now: () => number) {
    this.#accounts = new ExpiringMap(now);
    this.#reservations = new ExpiringMap(now);
    this.#charges = new ExpiringMap(now);
    this.#sessions = new ExpiringMap(now);
  }

  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    const { tenantId, reservationId, nowMs, expiresAtMs } = request;
    if (!this.#seeded.has(tenantId)) return { kind: 'unseeded' };
    const key = JSON.stringify([tenantId, reservationId]);
    const accounts = request.accounts.map((account) => ({ account, pot: this.#pot(tenantId, account) }));
    const before = this.#reservations.get(key);
    const hold = accounts[0]?.pot.holds.get(reservationId);
    if (before?.by !== undefined) return { kind: 'reserved', expiresAtMs };
    if (before !== undefined && hold !== undefined && hold.expiresAtMs > nowMs)
      return { kind: 'reserved', expiresAtMs: hold.expiresAtMs };
    const estimate = microsOf(request.estimateUsd);
    for (const { account, pot } of accounts) {
      pot.holds.delete(reservationId);
      if (pot.spent + heldIn(pot, nowMs) + estimate > limitMicrosOf(account.limitUsd))
        return { kind: 'refused', budgetId: account.budgetId };
    }
    for (const { account, pot } of accounts) {
      pot.holds.set(reservationId, { amount: estimate, expiresAtMs });
      this.#keep(tenantId, account, pot);
    }
    const kept = expiresAtMs - nowMs + LIFETIMES.reservation;
    this.#reservations.set(key, { estimate, accounts: request.accounts }, kept);
    return { kind: 'reserved', expiresAtMs };
  }

  async standing(
    tenantId: string,
    accounts: readonly BudgetAccount[],
    nowMs: number,
  ): Promise<readonly AccountStanding[] | null> {
    if (!this.#seeded.has(tenantId)) return null;
    return accounts.map((account) => {
      const pot = this.#pot(tenantId, account);
      return { spentUsd: usdOf(pot.spent), heldUsd: usdOf(heldIn(pot, nowMs)) };
    });
  }

  async spend(tenantId: string, spendings: readonly Spending[], nowMs: number): Promise<readonly SpendAnswer[] | null> {
    if (!this.#seeded.has(tenantId)) return null;
    return spendings.map((spending) => this.#spend(tenantId, spending, nowMs));
  }

  async seed(tenantId: string, accounts: readonly SeededAccount[]): Promise<void> {
    for (const account of accounts) {
      if (this.#accounts.get(nameOf(tenantId, account)) !== undefined) continue;
      this.#keep(tenantId, account, { spent: microsOf(account.spentUsd), holds: new Map() });
    }
  }

  async seeded(tenantId: string): Promise<void> {
    this.#seeded.add(tenantId);
  }

  async noteSessions(
    tenantId: string,
    runs: readonly { readonly runId: string; readonly sessionId: string }[],
  ): Promise<void> {
    for (const { runId, sessionId } of runs) {
      this.#sessions.set(JSON.stringify([tenantId, runId]), sessionId, LIFETIMES.run);
    }
  }

  async sessionOf(tenantId: string, runId: string): Promise<string | null> {
    return this.#sessions.get(JSON.stringify([tenantId, runId])) ?? null;
  }

  async unrecorded(tenantId: string, limit: number): Promise<readonly LedgerEntry[]> {
    return [...(this.#ledger.get(tenantId)?.values() ?? [])].slice(0, limit);
  }

  async recorded(tenantId: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#ledger.get(tenantId)?.delete(id);
  }

  #spend(tenantId: string, spending: Spending, nowMs: number): SpendAnswer {
    const { reservationId, eventId, costUsd, accounts } = spending;
    const held =
      reservationId === undefined ? undefined : this.#reservations.get(JSON.stringify([tenantId, reservationId]));
    if (held === undefined || reservationId === undefined) return this.#charge(tenantId, spending, nowMs);
    if (held.by === undefined) {
      held.by = eventId ?? '';
      const cost = costUsd === null ? held.estimate : microsOf(costUsd);
      for (const account of held.accounts) {
        this.#pot(tenantId, account).holds.delete(reservationId);
        this.#book(tenantId, account, reservationId, held.estimate, cost, nowMs);
      }
      return 'settled';
    }
    if (eventId === undefined || held.by === eventId) return 'repeated';
    if (held.by !== '') return this.#charge(tenantId, { eventId, costUsd, accounts }, nowMs);
    // The command told the cost already; the call's own event tells it again.
    held.by = eventId;
    return 'repeated';
  }

  #charge(tenantId: string, { eventId, costUsd, accounts }: Spending, nowMs: number): SpendAnswer {
    if (eventId === undefined) return 'unknown';
    const key = JSON.stringify([tenantId, eventId]);
    if (this.#charges.get(key)) return 'repeated';
    this.#charges.set(key, true, LIFETIMES.charge);
    const cost = microsOf(costUsd ?? 0);
    if (cost > 0) for (const account of accounts) this.#book(tenantId, account, eventId, 0, cost, nowMs);
    return 'charged';
  }

  #book(tenantId: string, account: BudgetAccount, id: string, estimate: number, cost: number, nowMs: number): void {
    const pot = this.#pot(tenantId, account);
    pot.spent += cost;
    this.#keep(tenantId, account, pot);
    this.#entries += 1;
    const entry: LedgerEntry = {
      id: String(this.#entries),
      budgetId: account.budgetId,
      scopeId: account.scopeId,
      periodStart: account.periodStart,
      reservationId: id,
      estimateUsd: usdOf(estimate),
      costUsd: usdOf(cost),
      settledAtMs: nowMs,
    };
    const ledger = this.#ledger.get(tenantId) ?? new Map<string, LedgerEntry>();
    this.#ledger.set(tenantId, ledger.set(entry.id, entry));
  }

  #pot(tenantId: string, account: BudgetAccount): Account {
    return this.#accounts.get(nameOf(tenantId, account)) ?? { spent: 0, holds: new Map() };
  }

  #keep(tenantId: string, account: BudgetAccount, pot: Account): void {
    this.#accounts.set(nameOf(tenantId, account), pot, account.keptMs);
  }
}

function heldIn({ holds }: Account, nowMs: number): number {
  let held = 0;
  for (const [id, { amount, expiresAtMs }] of holds) {
    if (expiresAtMs > nowMs) held += amount;
    else holds.delete(id);
  }
  return held;
}

function nameOf(tenantId: string, { budgetId, scopeId, periodStart }: BudgetAccount): string {
  return JSON.stringify([tenantId, budgetId, scopeId, periodStart]);
}
