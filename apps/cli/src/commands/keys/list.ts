import { pages } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';
import { KEY_COLUMNS } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.option('--limit <n>', 'at most this many', count, 500).action(async ({ limit }) => {
    const client = await context.connect();
    await printList(context, {
      pages: pages(client.listKeys, { query: { limit: Math.min(limit, PAGE) } }),
      itemsOf: ({ keys }) => keys,
      columns: KEY_COLUMNS,
      none: 'No keys.',
      limit,
    });
  });
};
