import { pages } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { instantBefore } from '../../parse/instant.ts';
import { amount, count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';
import { RUN_COLUMNS } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--agent <id>', 'only runs of this agent')
    .option(
      '--status <words>',
      'running, succeeded, failed, timed_out, cancelled, interrupted, lost, killed; several with commas',
    )
    .option('--model <name>', 'only runs that used this model')
    .option('--tags <names>', 'runs with any of these tags, with commas')
    .option('--rule <id>', 'only runs for which this rule fired or decided')
    .option('--min-cost <usd>', 'only runs that cost at least this', amount)
    .option('--from <time>', 'started since: an instant, a date or an age like 2h', when)
    .option('--to <time>', 'started until: an instant, a date or an age like 2h', when)
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async ({ agent, status, model, tags, rule, minCost, from, to, limit }) => {
      const client = await context.connect();
      const filter = { agentId: agent, status, model, tags, ruleId: rule, minCostUsd: minCost, from, to };
      await printList(context, {
        pages: pages(client.listRuns, { query: { ...filter, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ runs }) => runs,
        columns: RUN_COLUMNS,
        none: 'No runs match.',
        limit,
      });
    });
};
