import { pages } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { count } from '../../parse/numbers.ts';
import { PAGE, printList } from '../print-list.ts';
import { RULE_COLUMNS } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .option('--agent <id>', 'the rules that guard this agent')
    .option('--enabled', 'only rules that are enabled')
    .option('--disabled', 'only rules that are not')
    .option('--condition <type>', 'only rules with this condition, like error_rate_threshold')
    .option('--action <type>', 'only rules with this action, like pause_agent')
    .option('--limit <n>', 'at most this many', count, PAGE)
    .action(async ({ agent, enabled, disabled, condition, action, limit }) => {
      const client = await context.connect();
      const state = enabled === true ? true : disabled === true ? false : undefined;
      const query = { agentId: agent, enabled: state, conditionType: condition, actionType: action };
      await printList(context, {
        pages: pages(client.listRules, { query: { ...query, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ rules }) => rules,
        columns: RULE_COLUMNS,
        none: 'No rules match.',
        limit,
      });
    });
};
