import {
  BUDGET_SCOPES,
  Budget,
  BudgetBalance,
  BudgetDraft,
  BudgetPatch,
  BudgetPot,
  ClientId,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { commaListOf, consistent, Flag, IdPath, paging } from '../parameters.ts';

export const BUDGETS_LIST = 'budgets';

export const BudgetView = Budget.meta({ id: 'Budget' });

const Draft = BudgetDraft.meta({ id: 'BudgetDraft' });

export const createBudget = operation({
  id: 'createBudget',
  method: 'post',
  path: '/api/budgets',
  tag: 'Budgets',
  summary: 'Create a budget. Calls whose estimate does not fit are blocked.',
  scope: ['admin', 'edit'],
  once: true,
  body: Draft,
  examples: {
    oneAgent: { name: 'Researcher', scope: 'agent', scopeId: 'researcher', period: 'day', limitUsd: 5 },
    everyRun: { name: 'Each run', scope: 'run', period: 'total', limitUsd: 0.5 },
  },
  forwarded: true,
  status: 201,
  versioned: true,
  response: BudgetView,
  problems: [422],
});

export const BudgetFilter = consistent(
  z.object({
    scope: commaListOf(BUDGET_SCOPES).optional(),
    scopeId: ClientId.optional(),
    enabled: Flag.optional(),
    ...paging(BUDGETS_LIST, 500, 200),
  }),
);
export type BudgetFilter = z.output<typeof BudgetFilter>;

export const listBudgets = operation({
  id: 'listBudgets',
  method: 'get',
  path: '/api/budgets',
  tag: 'Budgets',
  summary: 'Budgets, newest first.',
  scope: 'read',
  query: BudgetFilter,
  response: z.object({ budgets: z.array(BudgetView), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});

export const getBudget = operation({
  id: 'getBudget',
  method: 'get',
  path: '/api/budgets/:id',
  tag: 'Budgets',
  summary:
    'A budget with spent, reserved and remaining amounts of its current period: of one pot if scopeId is given, else of the pots with the highest spend (at most 100).',
  scope: 'read',
  params: IdPath,
  query: z.object({ scopeId: ClientId.optional() }),
  versioned: 'budget',
  response: BudgetBalance.extend({ budget: BudgetView, pots: z.array(BudgetPot.meta({ id: 'BudgetPot' })) }),
  problems: [404],
});

export const updateBudget = operation({
  id: 'updateBudget',
  method: 'patch',
  path: '/api/budgets/:id',
  tag: 'Budgets',
  summary:
    'Change the fields you send. Spending is kept: raising a limit allows calls at once. To change scope or period, create another budget.',
  scope: ['admin', 'edit'],
  params: IdPath,
  headers: VersionHeaders,
  body: BudgetPatch.meta({ id: 'BudgetPatch' }),
  forwarded: true,
  versioned: true,
  response: BudgetView,
  problems: [404, 412],
});

export const deleteBudget = operation({
  id: 'deleteBudget',
  method: 'delete',
  path: '/api/budgets/:id',
  tag: 'Budgets',
  summary: 'Delete a budget. Its ledger is kept.',
  scope: ['admin', 'edit'],
  params: IdPath,
  headers: VersionHeaders,
  response: z.object({ ok: z.literal(true) }),
  problems: [404, 412],
});
