import { pages } from '@agentlens/client';
import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { instant } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';

const COLUMNS: readonly Column<AnswerOf<'listBreakers'>['breakers'][number]>[] = [
  { title: 'scope', value: ({ scope }) => scope },
  { title: 'id', value: ({ scopeId }) => scopeId },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'state', value: ({ state }) => state.kind, tone: toneOf },
  { title: 'why', value: ({ state }) => (state.kind === 'closed' ? undefined : state.reason) },
  { title: 'changed', value: ({ changedAt }) => instant(changedAt) },
];

export const define: CommandFile['define'] = (command, context) => {
  command
    .option('--scope <words>', 'run, agent')
    .option('--agent <id>', 'only those of this agent')
    .option('--state <words>', 'closed, open, half_open; several with commas')
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async ({ scope, agent, state, limit }) => {
      const client = await context.connect();
      const query = { scope, agentId: agent, state, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listBreakers, { query }),
        itemsOf: ({ breakers }) => breakers,
        columns: COLUMNS,
        none: 'No breakers match: one is listed once it opened.',
        limit,
      });
    });
};
