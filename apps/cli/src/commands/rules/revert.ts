import type { CommandFile } from '../../command-file.ts';
import { count } from '../../parse/numbers.ts';
import { ruleDetails } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<id>', 'the rule')
    .argument('<version>', 'the version to go back to', count)
    .option('--reason <text>', 'why, for the history of the rule')
    .action(async (id, version, { reason }) => {
      const client = await context.connect();
      const current = await client.getRule({ params: { id } });
      await context.confirm(`Let "${current.name}" say again what version ${version} said?`);
      const body = { version, reason };
      // Refused where somebody changed the rule meanwhile.
      const rule = await client.revertRule({ params: { id }, body, ifMatch: current.version });
      context.output.print(rule, () => ruleDetails(rule, context.output.paint));
    });
};
