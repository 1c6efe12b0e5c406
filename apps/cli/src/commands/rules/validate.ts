import { CommandError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import { plainText } from '../../output/plain-text.ts';
import { documentOf } from '../../parse/document.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<file>', 'the rule as JSON or YAML, in the fields of the API; "-" reads stdin')
    .action(async (file) => {
      const body = await documentOf(file, context.host);
      const client = await context.connect();
      const result = await client.validateRule({ body });
      context.output.print(result, () =>
        result.valid
          ? 'The rule is valid. Nothing was stored.'
          : result.details.map(({ path, message }) => plainText(`${file}: ${path}: ${message}`)).join('\n'),
      );
      if (!result.valid) throw new CommandError('The platform would refuse this rule.', { hint: result.hint });
    });
};
