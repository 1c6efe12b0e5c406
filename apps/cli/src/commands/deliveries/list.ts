import { pages } from '@agentlens/client';
import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { instant } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';

const COLUMNS: readonly Column<AnswerOf<'listDeliveries'>['deliveries'][number]>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'result', value: ({ result }) => result, tone: toneOf },
  { title: 'action', value: ({ actionType }) => actionType },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'triggered', value: ({ triggeredAt }) => instant(triggeredAt) },
  { title: 'attempts', value: ({ attemptCount }) => attemptCount, align: 'right' },
  { title: 'next', value: ({ nextAttemptAt }) => instant(nextAttemptAt) },
  { title: 'why', value: ({ detail }) => detail },
];

export const define: CommandFile['define'] = (command, context) => {
  command
    .option('--rule <id>', 'only actions of this rule')
    .option('--result <words>', 'like failed, retrying, success; several with commas')
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async ({ rule, result, limit }) => {
      const client = await context.connect();
      const query = { ruleId: rule, result, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listDeliveries, { query }),
        itemsOf: ({ deliveries }) => deliveries,
        columns: COLUMNS,
        none: 'No deliveries match.',
        limit,
      });
    });
};
