import { pages } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { instantBefore } from '../../parse/instant.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';
import { TRIGGER_COLUMNS } from './trigger-columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .argument('[id]', 'one rule; without it, all of them')
    .option('--agent <id>', 'only what happened to this agent')
    .option('--from <time>', 'an instant, a date or an age like 2h', when)
    .option('--to <time>', 'an instant, a date or an age like 2h', when)
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async (ruleId, { agent, from, to, limit }) => {
      const client = await context.connect();
      const query = { ruleId, agentId: agent, from, to, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listTriggers, { query }),
        itemsOf: ({ triggers }) => triggers,
        columns: TRIGGER_COLUMNS,
        none: 'No rule fired.',
        limit,
      });
    });
};
