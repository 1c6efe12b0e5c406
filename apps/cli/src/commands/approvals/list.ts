import { pages } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { count } from '../../parse/numbers.ts';
import { ALERT_COLUMNS } from '../alerts/columns.ts';
import { PAGE, printList } from '../print-list.ts';
import { WAITING } from './waiting.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .option('--agent <id>', 'only calls of this agent')
    .option('--run <id>', 'only calls of this run')
    .option('--all', 'also those that are decided, expired or cancelled')
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async ({ agent, run, all, limit }) => {
      const client = await context.connect();
      const narrowing = { kind: 'approval', agentId: agent, runId: run, status: all === true ? undefined : WAITING };
      await printList(context, {
        pages: pages(client.listAlerts, { query: { ...narrowing, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ alerts }) => alerts,
        columns: ALERT_COLUMNS.filter(({ title }) => title !== 'kind'),
        none: 'No call waits for a human.',
        limit,
      });
    });
};
