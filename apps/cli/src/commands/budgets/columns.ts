import type { AnswerOf } from '../../api-types.ts';
import { usd } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';

type BudgetRow = AnswerOf<'listBudgets'>['budgets'][number];

export const BUDGET_COLUMNS: readonly Column<BudgetRow>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'of', value: ofWhom },
  { title: 'period', value: ({ period }) => period },
  { title: 'limit', value: ({ limitUsd }) => usd(limitUsd), align: 'right' },
  { title: 'enabled', value: ({ enabled }) => enabled, tone: toneOf },
];

type Pot = AnswerOf<'getBudget'>['pots'][number];

export const POT_COLUMNS: readonly Column<Pot>[] = [
  { title: 'of', value: ({ scopeId }) => scopeId },
  { title: 'since', value: ({ periodStart }) => periodStart },
  { title: 'spent', value: ({ spentUsd }) => usd(spentUsd), align: 'right' },
  { title: 'reserved', value: ({ reservedUsd }) => usd(reservedUsd), align: 'right' },
  { title: 'left', value: ({ remainingUsd }) => usd(remainingUsd), align: 'right' },
];

function ofWhom({ scope, scopeId }: BudgetRow): string {
  if (scope === 'tenant') return 'the tenant';
  return scopeId === undefined ? `each ${scope}` : `${scope} ${scopeId}`;
}
