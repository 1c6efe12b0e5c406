import { pages } from '@agentlens/client';
import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { instant, usd } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';

const COLUMNS: readonly Column<AnswerOf<'getAgent'>>[] = [
  { title: 'id', value: ({ id }) => id },
  {
    title: 'state',
    value: ({ control }) => control.state,
    tone: (text) => toneOf(text),
  },
  { title: 'last seen', value: ({ lastSeenAt }) => instant(lastSeenAt) },
  { title: 'runs', value: ({ sessionCount }) => sessionCount, align: 'right' },
  { title: 'events', value: ({ eventCount }) => eventCount, align: 'right' },
  { title: 'errors', value: ({ errorCount }) => errorCount, align: 'right' },
  { title: 'cost', value: ({ totalCostUsd }) => usd(totalCostUsd), align: 'right' },
];

export const define: CommandFile['define'] = (command, context) => {
  command
    .option('--paused', 'only agents that are paused')
    .option('--limit <n>', 'at most this many', count, PAGE)
    .action(async ({ paused, limit }) => {
      const client = await context.connect();
      await printList(context, {
        pages: pages(client.listAgents, { query: { paused, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ agents }) => agents,
        columns: COLUMNS,
        none: 'No agents yet: one exists from its first event on.',
        limit,
      });
    });
};
