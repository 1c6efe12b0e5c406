import { pages } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { instantBefore } from '../../parse/instant.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';
import { ALERT_COLUMNS } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--status <words>', 'pending, acknowledged, approved, denied, expired, cancelled; several with commas')
    .option('--kind <words>', 'approval, breaker, rule; several with commas')
    .option('--agent <id>', 'only alerts of this agent')
    .option('--run <id>', 'only alerts of this run')
    .option('--from <time>', 'an instant, a date or an age like 2h', when)
    .option('--to <time>', 'an instant, a date or an age like 2h', when)
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async ({ status, kind, agent, run, from, to, limit }) => {
      const client = await context.connect();
      const query = { status, kind, agentId: agent, runId: run, from, to, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listAlerts, { query }),
        itemsOf: ({ alerts }) => alerts,
        columns: ALERT_COLUMNS,
        none: 'No alerts match.',
        limit,
      });
    });
};
