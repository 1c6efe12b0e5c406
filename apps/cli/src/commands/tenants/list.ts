import { pages } from '@agentlens/client';
import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { instant } from '../../output/format.ts';
import type { Column } from '../../output/table.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';

const COLUMNS: readonly Column<AnswerOf<'listTenants'>['tenants'][number]>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'made', value: ({ createdAt }) => instant(createdAt) },
];

export const define: CommandFile['define'] = (command, context) => {
  command.option('--limit <n>', 'at most this many', count, 50).action(async ({ limit }) => {
    const client = await context.connect();
    await printList(context, {
      pages: pages(client.listTenants, { query: { limit: Math.min(limit, PAGE) } }),
      itemsOf: ({ tenants }) => tenants,
      columns: COLUMNS,
      none: 'No tenants.',
      limit,
    });
  });
};
