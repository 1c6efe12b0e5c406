import { pages } from '@agentlens/client';
import type { DecisionAnswer } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { instant } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';
import { instantBefore } from '../../parse/instant.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';

const COLUMNS: readonly Column<DecisionAnswer>[] = [
  { title: 'at', value: ({ decidedAt }) => instant(decidedAt) },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'run', value: ({ runId }) => runId },
  { title: 'what', value: ({ toolName, phase }) => toolName ?? phase },
  { title: 'verdict', value: ({ verdict }) => verdict, tone: toneOf },
  { title: 'effect', value: ({ effect }) => effect, tone: toneOf },
  { title: 'would have', value: ({ wouldHave }) => wouldHave ?? '', tone: toneOf },
  { title: 'message', value: ({ message }) => message },
];

export const define: CommandFile['define'] = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--agent <id>', 'only about calls of this agent')
    .option('--run <id>', 'only about calls of this run')
    .option('--rule <id>', 'only where this rule matched, enforced or in shadow')
    .option('--tool <name>', 'only about this tool')
    .option('--verdict <word>', 'ALLOW or BLOCK: what the agent was told')
    .option('--effect <words>', 'allow, modify, ask, block, terminate: what was done to the call')
    .option('--would-have <words>', 'modify, ask, block, terminate: what rules in shadow would have done')
    .option('--from <time>', 'an instant, a date or an age like 2h', when)
    .option('--to <time>', 'an instant, a date or an age like 2h', when)
    .option('--limit <n>', 'at most this many', count, 50)
    .addHelpText(
      'after',
      '\nWhat shadow rules would have blocked: agentlens decisions list --would-have block,terminate',
    )
    .action(async ({ agent, run, rule, tool, verdict, effect, wouldHave, from, to, limit }) => {
      const client = await context.connect();
      const about = { agentId: agent, runId: run, ruleId: rule, toolName: tool };
      const query = { ...about, verdict, effect, wouldHave, from, to, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listDecisions, { query }),
        itemsOf: ({ decisions }) => decisions,
        columns: COLUMNS,
        none: 'No decisions match.',
        limit,
      });
    });
};
