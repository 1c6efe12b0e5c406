import { pages } from '@agentlens/client';
import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { instant } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';
import { instantBefore } from '../../parse/instant.ts';
import { count } from '../../parse/numbers.ts';
import { eventText } from '../event-text.ts';
import { PAGE, printList } from '../print-list.ts';

const COLUMNS: readonly Column<AnswerOf<'getEvent'>>[] = [
  { title: 'at', value: ({ timestamp }) => instant(timestamp) },
  { title: 'severity', value: ({ severity }) => severity, tone: toneOf },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'run', value: ({ sessionId }) => sessionId },
  { title: 'what happened', value: eventText },
  { title: 'id', value: ({ id }) => id },
];

export const define: CommandFile['define'] = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--agent <id>', 'only events of this agent')
    .option('--run <id>', 'only events of this run')
    .option('--type <names>', 'like tool_error or llm_call; several with commas')
    .option('--severity <words>', 'debug, info, warn, error, critical; several with commas')
    .option('--search <text>', 'part of the JSON text of the payload, any case')
    .option('--from <time>', 'an instant, a date or an age like 2h', when)
    .option('--to <time>', 'an instant, a date or an age like 2h', when)
    .option('--limit <n>', 'at most this many', count, 50)
    .action(async ({ agent, run, type, severity, search, from, to, limit }) => {
      const client = await context.connect();
      const filter = { agentId: agent, sessionId: run, eventType: type, severity, search, from, to };
      await printList(context, {
        pages: pages(client.listEvents, { query: { ...filter, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ events }) => events,
        columns: COLUMNS,
        none: 'No events match.',
        limit,
      });
    });
};
