import { type AuditRecord, BUDGET_PERIODS, type BudgetReached, periodStart } from '@agentlens/contracts';
import { type Kysely, type Selectable, sql } from 'kysely';
import { auditEntryFromRow } from '../rows/audit-row.ts';
import { budgetFromRow } from '../rows/budget-row.ts';
import type { BudgetsTable, Tables } from '../schema/tables.ts';

/** Shares of a budget that are worth a message. */
const SHARES = [0.8, 1] as const;

/** A pot of which most or all is spent, before it was asked since when. */
export type FullPot = Omit<BudgetReached, 'at'>;

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
export async function fullPots(db: Kysely<Tables>, tenantIds: readonly string[], nowMs: number): Promise<FullPot[]> {
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
export async function reachedSince(
  db: Kysely<Tables>,
  pots: readonly FullPot[],
  nowMs: number,
): Promise<BudgetReached[]> {
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
