import type {
  AccountBalance,
  BudgetAccount,
  BudgetStore,
  ChargedAccount,
  LedgerEntry,
  ReserveAnswer,
  ReserveRequest,
  SeededAccount,
  SpendAnswer,
  Spending,
  TreeLink,
} from '@agentlens/guardrails';
import { limitNanosOf, nanosOf, usdOf } from '../exact-numbers.ts';
import { LIFETIMES, MAX_OPEN_CALLS } from '../lifetimes.ts';
import type { ExpiringMap } from './evicting-maps.ts';
import type { MemorySnapshots } from './memory-snapshots.ts';

interface Account {
  spent: number;
  /** Calls without a known price, and the part of `spent` that was estimated for them. */
  unpriced: number;
  guessed: number;
  /** Amount and expiry by name of the hold. */
  readonly holds: Map<string, { readonly amount: number; readonly expiresAtMs: number }>;
}

/** Ends calls that were released: unlike after a settlement by command, a later cost counts. No event has this id. */
const RELEASED = ' released';

/** A call that has not ended. */
interface OpenCall {
  readonly question: string;
  readonly estimate: number;
  readonly hold: string;
  readonly accounts: readonly ChargedAccount[];
}

interface Held {
  /** Oldest first. */
  readonly open: OpenCall[];
  /** Number of calls so far under this id. */
  readonly calls: number;
  /** Absent in snapshots of earlier releases. */
  readonly holders?: readonly string[];
  /** Event that ended the last call; '' if a command did. */
  by?: string;
}

/**
 * Budgets of one process. Synchronous inside, so every call is atomic. A snapshot leaves out which tenants are seeded,
 * so that the next process adds the accounts it does not have, and records its unrecorded entries first.
 */
export class MemoryBudgetStore implements BudgetStore {
  readonly #accounts: ExpiringMap<Account>;
  readonly #reservations: ExpiringMap<Held>;
  /** Keys of the reservations of each holder. */
  readonly #holders: ExpiringMap<Set<string>>;
  readonly #charges: ExpiringMap<true>;
  readonly #sessions: ExpiringMap<string>;
  /** The run whose tree a run's tree became part of. */
  readonly #joined: ExpiringMap<string>;
  /** Accounts of each tree, by name. */
  readonly #ofTrees: ExpiringMap<Map<string, BudgetAccount>>;
  readonly #seeded = new Set<string>();
  readonly #ledger: ExpiringMap<Map<string, LedgerEntry>>;
  #entries = 0;

  constructor(snapshots: MemorySnapshots) {
    this.#accounts = snapshots.map('budget-accounts');
    this.#reservations = snapshots.map('budget-reservations');
    this.#holders = snapshots.map('budget-holders');
    this.#charges = snapshots.map('budget-charges');
    this.#sessions = snapshots.map('budget-sessions');
    this.#joined = snapshots.map('budget-trees-joined');
    this.#ofTrees = snapshots.map('budget-trees');
    this.#ledger = snapshots.map('budget-ledger');
  }

  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    const { tenantId, reservationId, nowMs, expiresAtMs } = request;
    if (!this.#seeded.has(tenantId)) return { kind: 'unseeded' };
    const key = JSON.stringify([tenantId, reservationId]);
    const accounts = request.accounts
      .map((account) => this.#resolved(tenantId, account))
      .map((account) => ({ account, pot: this.#pot(tenantId, account) }));
    const { open = [], calls = 0, by } = this.#reservations.get(key) ?? {};
    const { question } = request;
    const estimate = nanosOf(request.estimateUsd);
    const replaces = request.replaces === true;
    const same = open.find((call) => call.question === question && (replaces || call.estimate === estimate));
    const held = replaces ? undefined : same && accounts[0]?.pot.holds.get(same.hold);
    if (held !== undefined && held.expiresAtMs > nowMs) return { kind: 'reserved', expiresAtMs: held.expiresAtMs };
    for (const { account, pot } of accounts) {
      const limit = limitNanosOf(account.limitUsd);
      const isBlocked = account.onUnpriced === 'block' && pot.unpriced > 0;
      const others =
        heldIn(pot, nowMs) - (replaces && same !== undefined ? (pot.holds.get(same.hold)?.amount ?? 0) : 0);
      if (isBlocked || pot.spent >= limit || pot.spent + others + estimate > limit)
        return { kind: 'refused', budgetId: account.budgetId };
    }
    if (replaces && same !== undefined) this.#drop(tenantId, same);
    const hold = `${reservationId}#${calls}`;
    for (const { account, pot } of accounts) {
      pot.holds.set(hold, { amount: estimate, expiresAtMs });
      this.#keep(tenantId, account, pot);
    }
    const others = open.filter((call) => call !== same).slice(1 - MAX_OPEN_CALLS);
    const record = {
      open: [...others, { question, estimate, hold, accounts: request.accounts }],
      calls: calls + 1,
      holders: request.holders ?? [],
      ...(by === undefined ? {} : { by }),
    };
    this.#reservations.set(key, record, expiresAtMs - nowMs + LIFETIMES.reservation);
    for (const holder of record.holders) {
      const name = JSON.stringify([tenantId, holder]);
      this.#holders.set(name, (this.#holders.get(name) ?? new Set()).add(key), expiresAtMs - nowMs);
    }
    return { kind: 'reserved', expiresAtMs };
  }

  async balances(
    tenantId: string,
    accounts: readonly BudgetAccount[],
    nowMs: number,
  ): Promise<readonly AccountBalance[] | null> {
    if (!this.#seeded.has(tenantId)) return null;
    return accounts.map((account) => {
      const pot = this.#pot(tenantId, this.#resolved(tenantId, account));
      return {
        ...{ spentUsd: usdOf(pot.spent), heldUsd: usdOf(heldIn(pot, nowMs)) },
        ...{ unpricedCalls: pot.unpriced, estimatedUsd: usdOf(pot.guessed) },
      };
    });
  }

  async spend(tenantId: string, spendings: readonly Spending[], nowMs: number): Promise<readonly SpendAnswer[] | null> {
    if (!this.#seeded.has(tenantId)) return null;
    return spendings.map((spending) => this.#spend(tenantId, spending, nowMs));
  }

  async release(tenantId: string, holders: readonly string[]): Promise<void> {
    for (const holder of holders) {
      const name = JSON.stringify([tenantId, holder]);
      for (const key of this.#holders.get(name) ?? []) this.#releaseOne(tenantId, key);
      this.#holders.delete(name);
    }
  }

  #releaseOne(tenantId: string, key: string): void {
    const held = this.#reservations.get(key);
    if (held === undefined || held.open.length === 0) return;
    for (const call of held.open.splice(0)) this.#drop(tenantId, call);
    held.by = RELEASED;
    this.#leave(tenantId, key, held);
  }

  /** Releases what an open call holds. */
  #drop(tenantId: string, { accounts, hold }: OpenCall): void {
    for (const account of accounts) this.#pot(tenantId, this.#resolved(tenantId, account)).holds.delete(hold);
  }

  /** Forgets a reservation without open calls with its holders. */
  #leave(tenantId: string, key: string, { open, holders = [] }: Held): void {
    if (open.length > 0) return;
    for (const holder of holders) {
      const name = JSON.stringify([tenantId, holder]);
      const keys = this.#holders.get(name);
      keys?.delete(key);
      if (keys?.size === 0) this.#holders.delete(name);
    }
  }

  async seed(tenantId: string, accounts: readonly SeededAccount[]): Promise<void> {
    for (const named of accounts) {
      const account = this.#resolved(tenantId, named);
      if (this.#accounts.get(nameOf(tenantId, account)) !== undefined) continue;
      const { spentUsd, unpricedCalls: unpriced = 0, estimatedUsd = 0 } = account;
      const spent = nanosOf(spentUsd);
      this.#keep(tenantId, account, { spent, unpriced, guessed: nanosOf(estimatedUsd), holds: new Map() });
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

  async joinTrees(tenantId: string, links: readonly TreeLink[], nowMs: number): Promise<boolean> {
    if (!this.#seeded.has(tenantId)) return false;
    for (const { runId, parentRunId } of links) {
      const [from, to] = [this.#treeOf(tenantId, runId), this.#treeOf(tenantId, parentRunId)];
      if (from !== to) {
        this.#joined.set(JSON.stringify([tenantId, from]), to, LIFETIMES.run);
        const accounts = [...(this.#ofTrees.get(JSON.stringify([tenantId, from]))?.values() ?? [])];
        for (const account of accounts) this.#move(tenantId, account, to, nowMs);
        this.#ofTrees.delete(JSON.stringify([tenantId, from]));
      }
      const name = JSON.stringify([tenantId, runId]);
      const known = this.#joined.get(name);
      if (known !== undefined) this.#joined.set(name, known, LIFETIMES.run);
    }
    return true;
  }

  async unrecorded(tenantId: string, limit: number): Promise<readonly LedgerEntry[]> {
    return [...(this.#ledger.get(tenantId)?.values() ?? [])].slice(0, limit);
  }

  async recorded(tenantId: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#ledger.get(tenantId)?.delete(id);
  }

  #spend(tenantId: string, spending: Spending, nowMs: number): SpendAnswer {
    const { reservationId, eventId } = spending;
    const key = JSON.stringify([tenantId, reservationId]);
    const held = reservationId === undefined ? undefined : this.#reservations.get(key);
    if (held === undefined || reservationId === undefined) return this.#charge(tenantId, spending, nowMs);
    if (eventId !== undefined && (held.by === eventId || this.#isCharged(tenantId, eventId))) return 'repeated';
    const call = held.open.shift();
    if (call === undefined) return this.#afterEnd(tenantId, held, spending, nowMs);
    held.by = eventId ?? '';
    this.#leave(tenantId, key, held);
    if (eventId !== undefined) this.#noteCharge(tenantId, eventId);
    for (const account of call.accounts.map((one) => this.#resolved(tenantId, one))) {
      this.#pot(tenantId, account).holds.delete(call.hold);
      this.#book(tenantId, account, reservationId, call.estimate, spending, nowMs);
    }
    return 'settled';
  }

  #afterEnd(tenantId: string, held: Held, spending: Spending, nowMs: number): SpendAnswer {
    const { eventId } = spending;
    if (eventId === undefined) return 'repeated';
    if (held.by !== '') return this.#charge(tenantId, spending, nowMs);
    // The command has reported the cost; the call's own event repeats it.
    held.by = eventId;
    this.#noteCharge(tenantId, eventId);
    return 'repeated';
  }

  #charge(tenantId: string, spending: Spending, nowMs: number): SpendAnswer {
    const { eventId, costUsd, unpriced, accounts } = spending;
    if (eventId === undefined) return 'unknown';
    if (this.#isCharged(tenantId, eventId)) return 'repeated';
    this.#noteCharge(tenantId, eventId);
    if (unpriced === undefined && nanosOf(costUsd ?? 0) === 0) return 'charged';
    for (const account of accounts)
      this.#book(tenantId, this.#resolved(tenantId, account), eventId, 0, spending, nowMs);
    return 'charged';
  }

  #isCharged(tenantId: string, eventId: string): boolean {
    return this.#charges.get(JSON.stringify([tenantId, eventId])) === true;
  }

  #noteCharge(tenantId: string, eventId: string): void {
    this.#charges.set(JSON.stringify([tenantId, eventId]), true, LIFETIMES.charge);
  }

  #book(
    tenantId: string,
    account: ChargedAccount,
    id: string,
    estimate: number,
    spending: Spending,
    nowMs: number,
  ): void {
    const pot = this.#pot(tenantId, account);
    const cost = costFor(account, spending, estimate);
    const isUnpriced = spending.unpriced !== undefined;
    pot.spent += cost;
    if (isUnpriced) {
      pot.unpriced += 1;
      pot.guessed += cost;
    }
    this.#keep(tenantId, account, pot);
    this.#enter(tenantId, account, {
      reservationId: id,
      estimateUsd: usdOf(estimate),
      costUsd: usdOf(cost),
      settledAtMs: nowMs,
      unpriced: isUnpriced,
    });
  }

  #enter(
    tenantId: string,
    { budgetId, scopeId, periodStart }: BudgetAccount,
    entered: Omit<LedgerEntry, 'id' | 'budgetId' | 'scopeId' | 'periodStart'>,
  ): void {
    this.#entries += 1;
    const entry: LedgerEntry = { id: String(this.#entries), budgetId, scopeId, periodStart, ...entered };
    const ledger = this.#ledger.get(tenantId) ?? new Map<string, LedgerEntry>();
    this.#ledger.set(tenantId, ledger.set(entry.id, entry), Number.POSITIVE_INFINITY);
  }

  /** Moves everything in an account to the same account of another tree. */
  #move(tenantId: string, from: BudgetAccount, treeId: string, nowMs: number): void {
    const moved = this.#accounts.get(nameOf(tenantId, from));
    if (moved === undefined) return;
    this.#accounts.delete(nameOf(tenantId, from));
    const to = { ...from, scopeId: treeId };
    const pot = this.#pot(tenantId, to);
    for (const [name, hold] of moved.holds) pot.holds.set(name, hold);
    pot.spent += moved.spent;
    pot.unpriced += moved.unpriced;
    pot.guessed += moved.guessed;
    this.#keep(tenantId, to, pot);
    const reservationId = `joined:${from.scopeId}:${treeId}:${nowMs}`;
    const balance = (cost: number, isUnpriced: boolean) => {
      const common = { estimateUsd: 0, settledAtMs: nowMs, unpriced: isUnpriced };
      const id = isUnpriced ? `${reservationId}:unpriced` : reservationId;
      this.#enter(tenantId, from, { ...common, reservationId: id, costUsd: 0 - usdOf(cost) });
      this.#enter(tenantId, to, { ...common, reservationId: id, costUsd: usdOf(cost) });
    };
    if (moved.spent > moved.guessed) balance(moved.spent - moved.guessed, false);
    if (moved.unpriced > 0) balance(moved.guessed, true);
  }

  /** The topmost run of the joined trees that a run belongs to. */
  #treeOf(tenantId: string, runId: string): string {
    let treeId = runId;
    for (;;) {
      const above = this.#joined.get(JSON.stringify([tenantId, treeId]));
      if (above === undefined) return treeId;
      treeId = above;
    }
  }

  #resolved<A extends BudgetAccount>(tenantId: string, account: A): A {
    return account.ofTree === true ? { ...account, scopeId: this.#treeOf(tenantId, account.scopeId) } : account;
  }

  #pot(tenantId: string, account: BudgetAccount): Account {
    return this.#accounts.get(nameOf(tenantId, account)) ?? { spent: 0, unpriced: 0, guessed: 0, holds: new Map() };
  }

  #keep(tenantId: string, account: BudgetAccount, pot: Account): void {
    const name = nameOf(tenantId, account);
    this.#accounts.set(name, pot, account.keptMs);
    if (account.ofTree !== true) return;
    const { budgetId, scopeId, periodStart, keptMs, ofTree } = account;
    const tree = JSON.stringify([tenantId, scopeId]);
    const accounts = this.#ofTrees.get(tree) ?? new Map<string, BudgetAccount>();
    this.#ofTrees.set(tree, accounts.set(name, { budgetId, scopeId, periodStart, keptMs, ofTree }), keptMs);
  }
}

/** What one account is charged, in billionths. @param reserved the estimate of the call, 0 without a reservation */
function costFor({ onUnpriced }: ChargedAccount, { costUsd, unpriced }: Spending, reserved: number): number {
  if (unpriced === undefined) return costUsd === null ? reserved : nanosOf(costUsd);
  const estimate = onUnpriced === 'allow' ? 0 : nanosOf(unpriced.estimateUsd);
  return estimate > 0 ? estimate : reserved;
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
