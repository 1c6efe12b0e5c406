import { pages } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';
import { BUDGET_COLUMNS } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .option('--scope <words>', 'run, session, agent, actor, tenant; several with commas')
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async ({ scope, limit }) => {
      const client = await context.connect();
      await printList(context, {
        pages: pages(client.listBudgets, { query: { scope, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ budgets }) => budgets,
        columns: BUDGET_COLUMNS,
        none: 'No budgets match.',
        limit,
      });
    });
};
