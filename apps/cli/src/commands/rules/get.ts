import type { CommandFile } from '../../command-file.ts';
import { instant } from '../../output/format.ts';
import { details, table } from '../../output/table.ts';
import { ruleDetails } from './columns.ts';
import { TRIGGER_COLUMNS } from './trigger-columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the rule').action(async (id) => {
    const client = await context.connect();
    const status = await client.getRuleStatus({ params: { id } });
    const { layout } = context.output;
    context.output.print(status, () => {
      const { rule, state, recentTriggers } = status;
      const measured = details(
        [
          ['Measures now', state?.currentValue],
          ['Fired', state && `${state.triggerCount} times`],
          ['Last', instant(state?.lastTriggeredAt)],
        ],
        layout.paint,
      );
      const triggers = recentTriggers.length === 0 ? '' : table(recentTriggers, TRIGGER_COLUMNS, layout);
      return [ruleDetails(rule, layout.paint), measured, triggers].filter((part) => part !== '').join('\n\n');
    });
  });
};
