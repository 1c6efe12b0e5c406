import { type AuditRecord, BUDGET_PERIODS, type BudgetReached, MINUTE_MS, periodStart } from '@agentlens/contracts';
import { type Kysely, type Selectable, sql } from 'kysely';
import { auditEntryFromRow } from './audit.ts';
import { budgetFromRow } from './rows.ts';
import type { BudgetsTable, Tables } from './schema/tables.ts';

/** Shares of a budget that trigger a notification. */
const SHARES = [0.8, 1] as const;

/** A budget account that reached a share, without the time when it did. */
type FullPot = Omit<BudgetReached, 'at'>;

/** Changes of these tenants since a time, oldest first. */
export async function changesSince(
  db: Kysely<Tables>,
  tenantIds: readonly string[],
  since: string,
): Promise<AuditRecord[]> {
  if (tenantIds.length === 0) return [];
  const rows = await db
    .selectFrom('audit_entries')
    .selectAll()
    .where('tenant_id', 'in', tenantIds)
    .where('at', '>=', since)
    .orderBy('at')
    .orderBy('entry_id')
    .execute();
  return rows.map(auditEntryFromRow);
}

/** Accounts that reached a share according to the ledger, which lags by up to a second. */
async function fullPots(db: Kysely<Tables>, tenantIds: readonly string[], nowMs: number): Promise<FullPot[]> {
  if (tenantIds.length === 0) return [];
  const starts = BUDGET_PERIODS.map((period) => ({ period, start: periodStart(period, nowMs) }));
  const { rows } = await sql<Selectable<BudgetsTable> & { pot: string; start: string; spent: number }>`
    select b.*, pots.pot, pots.start, pots.spent
    from budgets b join jsonb_to_recordset(${JSON.stringify(starts)}::jsonb) as p(period text, start text) using (period)
      cross join lateral (
        select l.scope_id as pot, p.start as start, sum(l.cost_usd)::float8 as spent from budget_ledger l
        where l.tenant_id = b.tenant_id and l.budget_id = b.budget_id and l.period_start = p.start::date
        group by l.scope_id having sum(l.cost_usd) >= ${SHARES[0]} * b.limit_usd
      ) as pots
    where b.tenant_id = any(${[...tenantIds]}::text[]) and b.enabled and b.deleted_at is null`.execute(db);
  return rows.map((row) => {
    const budget = budgetFromRow(row);
    const { pot: scopeId, start, spent: spentUsd } = row;
    const share = spentUsd >= budget.limitUsd ? SHARES[1] : SHARES[0];
    return { budget, scopeId, periodStart: start, spentUsd, share };
  });
}

/**
 * Adds the time at which each account reached its share: when settled spending reached the amount or when the limit was
 * set, whichever is later. Reads the ledger of the whole period, so call it only for new accounts.
 */
async function reachedSince(db: Kysely<Tables>, pots: readonly FullPot[], nowMs: number): Promise<BudgetReached[]> {
  if (pots.length === 0) return [];
  const asked = pots.map(({ budget, scopeId, periodStart: start, share }, n) => ({
    ...{ n, tenant_id: budget.tenantId, budget_id: budget.id, scope_id: scopeId, period_start: start },
    amount: share * budget.limitUsd,
  }));
  const { rows } = await sql<{ n: number; at: string | null }>`
    select p.n, greatest(spent.at, limited.at) as at
    from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb)
        as p(n int, tenant_id text, budget_id text, scope_id text, period_start date, amount numeric)
      cross join lateral (
        select min(settled_at) as at from (
          select settled_at, sum(cost_usd) over (order by settled_at, reservation_id) as spent from budget_ledger l
          where l.tenant_id = p.tenant_id and l.budget_id = p.budget_id and l.scope_id = p.scope_id
            and l.period_start = p.period_start
        ) as sums where spent >= p.amount
      ) as spent
      cross join lateral (
        select max(at) as at from audit_entries a
        where a.tenant_id = p.tenant_id and a.target_id = p.budget_id and a.target = 'budget'
          and a.before->'limitUsd' is distinct from a.after->'limitUsd'
      ) as limited`.execute(db);
  const since = new Map(rows.map(({ n, at }) => [n, at]));
  // If sums of doubles differ from those of the ledger, use the current time.
  return pots.map((pot, n) => ({ ...pot, at: since.get(n) ?? new Date(nowMs).toISOString() }));
}

/** Rows are committed later than the time they contain. */
const OVERLAP_MS = 2 * MINUTE_MS;

/** News for webhooks: changes by people, and budgets that are mostly or fully spent. */
export interface News {
  /** Oldest first. */
  readonly changes: readonly AuditRecord[];
  /** Once per account, period, share and limit. */
  readonly reached: readonly BudgetReached[];
}

/** Tenants whose news are requested. */
export interface NewsOf {
  readonly changes: readonly string[];
  readonly budgets: readonly string[];
}

/**
 * Finds new entries since the previous look. The tables are polled because they have no notifications, and entries are
 * deduplicated within this process. Do not call `look` concurrently.
 */
export class RecordNews {
  readonly #now: () => number;
  readonly #missedMs: number;
  #reported: ReadonlySet<string> = new Set();
  #lookedAtMs: number | undefined;

  /** @param missedMs how far back the first look reads changes */
  constructor(now: () => number, missedMs = OVERLAP_MS) {
    this.#now = now;
    this.#missedMs = missedMs;
  }

  /**
   * Passes new entries to `take`, if there are any. If `take` throws, the next look passes them again.
   * @throws errors of Postgres or `take`
   */
  async look(db: Kysely<Tables>, of: NewsOf, take: (news: News, at: string) => Promise<void> | void): Promise<void> {
    const nowMs = this.#now();
    const from = this.#lookedAtMs === undefined ? nowMs - this.#missedMs : this.#lookedAtMs - OVERLAP_MS;
    const changes = await changesSince(db, of.changes, new Date(from).toISOString());
    const pots = await fullPots(db, of.budgets, nowMs);
    const isNew = (key: string) => !this.#reported.has(key);
    const fresh = {
      changes: changes.filter((change) => isNew(keyOfChange(change))),
      reached: await reachedSince(
        db,
        pots.filter((pot) => isNew(keyOfPot(pot))),
        nowMs,
      ),
    };
    if (fresh.changes.length + fresh.reached.length > 0) await take(fresh, new Date(nowMs).toISOString());
    // The next look can only see these again.
    this.#reported = new Set([...changes.map(keyOfChange), ...pots.map(keyOfPot)]);
    this.#lookedAtMs = nowMs;
  }
}

function keyOfChange({ tenantId, id }: AuditRecord): string {
  return JSON.stringify([tenantId, id]);
}

function keyOfPot({ budget, scopeId, periodStart, share }: FullPot): string {
  return JSON.stringify([budget.tenantId, budget.id, scopeId, periodStart, share, budget.limitUsd]);
}
