import type { BudgetStore } from '@agentlens/guardrails';
import type { BudgetsRepository } from './budgets.repository.ts';

const PAGE = 500;

/** Moves a tenant's spending from the store into the ledger, oldest first, until no entry is waiting. */
export async function carryOver(
  store: Pick<BudgetStore, 'unrecorded' | 'recorded'>,
  ledger: Pick<BudgetsRepository, 'record'>,
  tenantId: string,
): Promise<void> {
  for (;;) {
    const entries = await store.unrecorded(tenantId, PAGE);
    if (entries.length === 0) return;
    await ledger.record(tenantId, entries);
    const ids = entries.map(({ id }) => id);
    await store.recorded(tenantId, ids);
    if (entries.length < PAGE) return;
  }
}
