import { pages } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';
import { DELIVERY_COLUMNS } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .option('--rule <id>', 'only actions of this rule')
    .option('--result <words>', 'like failed, retrying, success; several with commas')
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async ({ rule, result, limit }) => {
      const client = await context.connect();
      const query = { ruleId: rule, result, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listDeliveries, { query }),
        itemsOf: ({ deliveries }) => deliveries,
        columns: DELIVERY_COLUMNS,
        none: 'No deliveries match.',
        limit,
      });
    });
};
