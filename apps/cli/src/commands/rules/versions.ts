import { pages } from '@agentlens/client';
import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { instant } from '../../output/format.ts';
import type { Column } from '../../output/table.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';

const COLUMNS: readonly Column<AnswerOf<'listRuleVersions'>['versions'][number]>[] = [
  { title: 'version', value: ({ version }) => version, align: 'right' },
  { title: 'at', value: ({ changedAt }) => instant(changedAt) },
  { title: 'by', value: ({ changedBy }) => changedBy },
  { title: 'through', value: ({ source }) => source },
  {
    title: 'changed',
    value: ({ deleted, changes }) => (deleted ? 'the rule was deleted' : changes.map(({ path }) => path).join(', ')),
  },
  { title: 'reason', value: ({ reason }) => reason },
];

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<id>', 'the rule')
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async (id, { limit }) => {
      const client = await context.connect();
      await printList(context, {
        pages: pages(client.listRuleVersions, { params: { id }, query: { limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ versions }) => versions,
        columns: COLUMNS,
        none: 'No versions.',
        limit,
      });
    });
};
