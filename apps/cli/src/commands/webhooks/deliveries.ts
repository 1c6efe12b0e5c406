import { pages } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { count } from '../../parse/numbers.ts';
import { DELIVERY_COLUMNS } from '../deliveries/columns.ts';
import { PAGE, printList } from '../print-list.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<id>', 'the webhook')
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async (id, { limit }) => {
      const client = await context.connect();
      await printList(context, {
        pages: pages(client.listWebhookDeliveries, { params: { id }, query: { limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ deliveries }) => deliveries,
        columns: DELIVERY_COLUMNS,
        none: 'Nothing was sent yet.',
        limit,
      });
    });
};
