import { type AuditRecord, BUDGET_PERIODS, type BudgetReached, MINUTE_MS, periodStart } from '@agentlens/contracts';
import { type Kysely, type Selectable, sql } from 'kysely';
import { auditEntryFromRow } from './audit.ts';
import { budgetFromRow } from './rows.ts';
import type { BudgetsTable, Tables } from './schema/tables.ts';

/** Shares of a budget that are worth a message. */
const SHARES = [0.8, 1] as const;

/** A pot of which most or all is spent, before it was asked since when. */
type FullPot = Omit<BudgetReached, 'at'>;

/** Changes of these tenants from then on, oldest first. */
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

/** By what is in the ledger: what was spent a second ago is in the next look. */
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
 * Since when each has reached its share: when what was settled by then was so much, or when the limit was set to what it
 * is, whichever came later. It reads the ledger of the period, so it is for pots that were not told yet.
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
  // Where sums of doubles say otherwise than those of the ledger it was reached just now.
  return pots.map((pot, n) => ({ ...pot, at: since.get(n) ?? new Date(nowMs).toISOString() }));
}

/** A row is committed after the time it carries. */
const OVERLAP_MS = 2 * MINUTE_MS;

/** What other services wrote into the record: changes by people, and budgets of which most or all is spent. */
export interface News {
  /** Oldest first. */
  readonly changes: readonly AuditRecord[];
  /** Each pot, period, share and limit once. */
  readonly reached: readonly BudgetReached[];
}

/** Whose news are wanted. */
export interface NewsOf {
  readonly changes: readonly string[];
  readonly budgets: readonly string[];
}

/**
 * What is new in the record since the last look. The record is read again and again, because nobody publishes it; this
 * remembers what it told, so that nobody hears of it twice from the same process. One look at a time.
 */
export class RecordNews {
  readonly #now: () => number;
  readonly #missedMs: number;
  #told: ReadonlySet<string> = new Set();
  #lookedAtMs: number | undefined;

  /** @param missedMs how far back the first look reads changes: what may have been missed before. */
  constructor(now: () => number, missedMs = OVERLAP_MS) {
    this.#now = now;
    this.#missedMs = missedMs;
  }

  /**
   * Hands on what is new, if anything. If `take` throws, the next look hands it on again.
   * @throws what Postgres or `take` says
   */
  async look(db: Kysely<Tables>, of: NewsOf, take: (news: News, at: string) => Promise<void> | void): Promise<void> {
    const nowMs = this.#now();
    const from = this.#lookedAtMs === undefined ? nowMs - this.#missedMs : this.#lookedAtMs - OVERLAP_MS;
    const changes = await changesSince(db, of.changes, new Date(from).toISOString());
    const pots = await fullPots(db, of.budgets, nowMs);
    const isNew = (key: string) => !this.#told.has(key);
    const fresh = {
      changes: changes.filter((change) => isNew(keyOfChange(change))),
      reached: await reachedSince(
        db,
        pots.filter((pot) => isNew(keyOfPot(pot))),
        nowMs,
      ),
    };
    if (fresh.changes.length + fresh.reached.length > 0) await take(fresh, new Date(nowMs).toISOString());
    // What this look saw is all that the next one can see again.
    this.#told = new Set([...changes.map(keyOfChange), ...pots.map(keyOfPot)]);
    this.#lookedAtMs = nowMs;
  }
}

function keyOfChange({ tenantId, id }: AuditRecord): string {
  return JSON.stringify([tenantId, id]);
}

function keyOfPot({ budget, scopeId, periodStart, share }: FullPot): string {
  return JSON.stringify([budget.tenantId, budget.id, scopeId, periodStart, share, budget.limitUsd]);
}
