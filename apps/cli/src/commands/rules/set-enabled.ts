import type { CommandFile } from '../../command-file.ts';
import { ruleDetails } from './columns.ts';

/** The command that switches a rule on or off. */
export function setEnabled(enabled: boolean): CommandFile['define'] {
  return (command, context) => {
    command.argument('<id>', 'the rule').action(async (id) => {
      const client = await context.connect();
      const rule = await client.updateRule({ params: { id }, body: { enabled } });
      context.output.print(rule, () => ruleDetails(rule, context.output.paint));
    });
  };
}
