import type { CommandFile } from '../../command-file.ts';
import { documentOf } from '../../parse/document.ts';
import { ruleDetails } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<file>', 'the rule as JSON or YAML, in the fields of the API; "-" reads stdin')
    .action(async (file) => {
      const body = (await documentOf(file, context.host)) as never;
      const client = await context.connect();
      const rule = await client.createRule({ body });
      context.output.print(rule, () => ruleDetails(rule, context.output.paint));
    });
};
