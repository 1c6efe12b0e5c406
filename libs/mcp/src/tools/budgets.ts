import { z } from 'zod';
import { actionsWith, id, type McpTool, PAGE, USUAL_LIMIT, words } from '../tool.ts';

const PATH = '/spend';

const fields = {
  ...PAGE,
  budgetId: id,
  scope: words.describe('run,tree,session,agent,actor,tenant'),
  scopeId: id,
  budget: z
    .record(z.string(), z.unknown())
    .describe('name, scope, scopeId, period (total|day|week|month), limitUsd, onUnavailable (allow|block)'),
};
const action = actionsWith(fields);

export const budgets: McpTool = {
  name: 'budgets',
  title: 'Budgets',
  description: 'Spending limits. get: spent, reserved and remaining amounts.',
  fields,
  actions: {
    list: action({
      scope: 'read',
      takes: ['scope', 'scopeId', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, scope, scopeId, cursor }) => ({
        ...{ list: 'budgets', limit, path: PATH },
        ask: (most) => client.listBudgets({ query: { scope, scopeId, cursor, limit: most } }),
      }),
    }),
    get: action({
      scope: 'read',
      needs: ['budgetId'],
      takes: ['scopeId'],
      run: async ({ client }, { budgetId, scopeId }) => ({
        value: await client.getBudget({ params: { id: budgetId }, query: { scopeId } }),
        path: PATH,
      }),
    }),
    create: action({
      scope: 'admin',
      needs: ['budget'],
      run: async ({ client }, { budget }) => ({
        value: { budget: await client.createBudget({ body: budget as never }) },
        path: PATH,
      }),
    }),
    delete: action({
      scope: 'admin',
      needs: ['budgetId'],
      confirm: async ({ client }, { budgetId }) => {
        const { budget } = await client.getBudget({ params: { id: budgetId } });
        const { name, limitUsd, period, scope } = budget;
        return {
          question: `Delete the budget ${JSON.stringify(name)} (${limitUsd} USD per ${period}, of each ${scope})?`,
        };
      },
      run: async ({ client }, { budgetId }) => {
        await client.deleteBudget({ params: { id: budgetId } });
        return { value: { deleted: budgetId }, path: PATH };
      },
    }),
  },
};
