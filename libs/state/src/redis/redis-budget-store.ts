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
import { escaped } from '../windows/question.ts';
import { answered, type RedisConnection } from './connection.ts';
import { BudgetKeys } from './keys.ts';

const ANSWERS: Readonly<Record<string, SpendAnswer>> = { s: 'settled', c: 'charged', r: 'repeated', u: 'unknown' };

type ReserveReply = [kind: 1, expiry: string] | [kind: 0, index: number] | [kind: -1];
type LedgerFields = [
  budget: string,
  scope: string,
  period: string,
  id: string,
  estimate: string,
  cost: string,
  at: string,
  /** Absent in entries of releases that did not count calls without a price. */
  unpriced?: boolean,
];

/** Reservations that one call of the script releases. */
const MAX_RELEASED = 500;

/** Prefix of entries from releases up to 0.1, which counted in millionths of a dollar. */
const EARLIER = 'millionths/';
const usdOfMillionths = (amount: number) => amount / 1e6;

/** Budgets shared by all evaluators. Spending is kept in a stream until it is in the ledger. */
export class RedisBudgetStore implements BudgetStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    const { tenantId, reservationId, accounts, nowMs, expiresAtMs } = request;
    const budgetKeys = new BudgetKeys(tenantId);
    const keys = [
      budgetKeys.marker,
      budgetKeys.reservation(reservationId),
      ...accounts.flatMap((account) => [budgetKeys.account(account), budgetKeys.holds(account)]),
    ];
    const reply = this.#redis.reserveBudget(
      keys.length,
      ...keys,
      reservationId,
      nanosOf(request.estimateUsd),
      nowMs,
      expiresAtMs,
      expiresAtMs - nowMs + LIFETIMES.reservation,
      JSON.stringify(accounts.map((account) => accountOf(budgetKeys, account))),
      request.question,
      MAX_OPEN_CALLS,
      JSON.stringify((request.holders ?? []).map((holder) => budgetKeys.holder(holder))),
      request.replaces === true ? '1' : '0',
      ...accounts.flatMap(({ limitUsd, keptMs, onUnpriced }) => [
        ...[limitNanosOf(limitUsd), keptMs],
        onUnpriced === 'block' ? '1' : '0',
      ]),
    );
    const answer = (await answered('reserve', reply)) as ReserveReply;
    if (answer[0] === -1) return { kind: 'unseeded' };
    if (answer[0] === 1) return { kind: 'reserved', expiresAtMs: Number(answer[1]) };
    return { kind: 'refused', budgetId: accounts[answer[1]]?.budgetId ?? '' };
  }

  async balances(
    tenantId: string,
    accounts: readonly BudgetAccount[],
    nowMs: number,
  ): Promise<readonly AccountBalance[] | null> {
    const budgetKeys = new BudgetKeys(tenantId);
    const keys = [
      budgetKeys.marker,
      ...accounts.flatMap((account) => [budgetKeys.account(account), budgetKeys.holds(account)]),
    ];
    const runs = accounts.map((account) => treeRunOf(account) ?? '');
    const reply = (await answered('balances', this.#redis.readBalances(keys.length, ...keys, nowMs, ...runs))) as
      | string[]
      | null;
    if (reply === null) return null;
    return accounts.map((_, index) => ({
      spentUsd: usdOf(Number(reply[4 * index])),
      heldUsd: usdOf(Number(reply[4 * index + 1])),
      unpricedCalls: Number(reply[4 * index + 2]),
      estimatedUsd: usdOf(Number(reply[4 * index + 3])),
    }));
  }

  async spend(tenantId: string, spendings: readonly Spending[], nowMs: number): Promise<readonly SpendAnswer[] | null> {
    if (spendings.length === 0) return [];
    const budgetKeys = new BudgetKeys(tenantId);
    const body = spendings.map(({ reservationId, eventId, costUsd, unpriced, accounts }) => [
      reservationId === undefined ? '' : budgetKeys.reservation(reservationId),
      eventId === undefined ? '' : budgetKeys.charge(eventId),
      eventId ?? '',
      costUsd === null ? -1 : nanosOf(costUsd),
      accounts.map((account) => accountOf(budgetKeys, account)),
      unpriced === undefined ? -1 : nanosOf(unpriced.estimateUsd),
    ]);
    const call = this.#redis.spendBudget(
      2,
      budgetKeys.marker,
      budgetKeys.ledger,
      nowMs,
      LIFETIMES.charge,
      JSON.stringify(body),
    );
    const reply = (await answered('spend', call)) as string[] | null;
    return reply === null ? null : reply.map((letter) => ANSWERS[letter] ?? 'unknown');
  }

  async release(tenantId: string, holders: readonly string[]): Promise<void> {
    const budgetKeys = new BudgetKeys(tenantId);
    const keys = [budgetKeys.marker, ...holders.map((holder) => budgetKeys.holder(holder))];
    const step = () => answered('release', this.#redis.releaseBudget(keys.length, ...keys, MAX_RELEASED));
    while ((await step()) === 1);
  }

  async seed(tenantId: string, accounts: readonly SeededAccount[]): Promise<void> {
    if (accounts.length === 0) return;
    const budgetKeys = new BudgetKeys(tenantId);
    const calls = this.#redis.multi();
    for (const account of accounts) {
      const key = budgetKeys.account(account);
      const { spentUsd, unpricedCalls = 0, estimatedUsd = 0, keptMs } = account;
      calls.hsetnx(key, 'spent', nanosOf(spentUsd));
      if (unpricedCalls > 0) {
        calls.hsetnx(key, 'unpriced', unpricedCalls).hsetnx(key, 'guessed', nanosOf(estimatedUsd));
      }
      calls.pexpire(key, keptMs);
      if (account.ofTree === true) {
        const tree = budgetKeys.treeAccounts(account.scopeId);
        const noted = accountOf(budgetKeys, { ...account, onUnpriced: 'estimate' });
        calls.hset(tree, key, JSON.stringify(noted)).pexpire(tree, keptMs);
      }
    }
    await answered('seed', calls.exec());
  }

  async seeded(tenantId: string): Promise<void> {
    await answered('seeded', this.#redis.set(new BudgetKeys(tenantId).marker, '1'));
  }

  async noteSessions(
    tenantId: string,
    runs: readonly { readonly runId: string; readonly sessionId: string }[],
  ): Promise<void> {
    if (runs.length === 0) return;
    const budgetKeys = new BudgetKeys(tenantId);
    const calls = this.#redis.multi();
    for (const { runId, sessionId } of runs) calls.set(budgetKeys.session(runId), sessionId, 'PX', LIFETIMES.run);
    await answered('noteSessions', calls.exec());
  }

  async sessionOf(tenantId: string, runId: string): Promise<string | null> {
    return answered('sessionOf', this.#redis.get(new BudgetKeys(tenantId).session(runId)));
  }

  async joinTrees(tenantId: string, links: readonly TreeLink[], nowMs: number): Promise<boolean> {
    const budgetKeys = new BudgetKeys(tenantId);
    const pairs = links.map(({ runId, parentRunId }) => [escaped(runId), runId, escaped(parentRunId), parentRunId]);
    const keys = [budgetKeys.marker, budgetKeys.ledger];
    const args = [nowMs, LIFETIMES.run, budgetKeys.tag, JSON.stringify(pairs)];
    const reply = await answered('joinTrees', this.#redis.joinTrees(keys.length, ...keys, ...args));
    return reply === 1;
  }

  async unrecorded(tenantId: string, limit: number): Promise<readonly LedgerEntry[]> {
    const budgetKeys = new BudgetKeys(tenantId);
    const read = (key: string) => this.#redis.xrange(key, '-', '+', 'COUNT', limit);
    const [earlier, own] = await answered(
      'unrecorded',
      Promise.all([read(budgetKeys.ledgerInMillionths), read(budgetKeys.ledger)]),
    );
    const entries = [
      ...earlier.map(([id, [, text = '']]) => entryOf(`${EARLIER}${id}`, text, usdOfMillionths)),
      ...own.map(([id, [, text = '']]) => entryOf(id, text, usdOf)),
    ];
    return entries.slice(0, limit);
  }

  async recorded(tenantId: string, ids: readonly string[]): Promise<void> {
    const budgetKeys = new BudgetKeys(tenantId);
    const earlier = ids.filter((id) => id.startsWith(EARLIER)).map((id) => id.slice(EARLIER.length));
    const own = ids.filter((id) => !id.startsWith(EARLIER));
    if (earlier.length > 0) await answered('recorded', this.#redis.xdel(budgetKeys.ledgerInMillionths, ...earlier));
    if (own.length > 0) await answered('recorded', this.#redis.xdel(budgetKeys.ledger, ...own));
  }
}

/** An account in the format of lua/spend-budget.lua and of stored reservations. */
function accountOf(budgetKeys: BudgetKeys, account: ChargedAccount): unknown[] {
  const { budgetId, scopeId, periodStart, keptMs, onUnpriced } = account;
  const run = treeRunOf(account);
  return [
    ...[budgetKeys.account(account), budgetKeys.holds(account), budgetId, scopeId, periodStart, keptMs, onUnpriced],
    ...(run === undefined ? [] : [run]),
  ];
}

/** The run in the key of an account of a run tree. */
function treeRunOf({ ofTree, scopeId }: BudgetAccount): string | undefined {
  return ofTree === true ? escaped(scopeId) : undefined;
}

function entryOf(id: string, text: string, toUsd: (amount: number) => number): LedgerEntry {
  const [budgetId, scopeId, periodStart, reservationId, estimate, cost, at, unpriced] = JSON.parse(
    text,
  ) as LedgerFields;
  return {
    id,
    budgetId,
    scopeId,
    periodStart,
    reservationId,
    estimateUsd: toUsd(Number(estimate)),
    costUsd: toUsd(Number(cost)),
    settledAtMs: Number(at),
    unpriced: unpriced === true,
  };
}
