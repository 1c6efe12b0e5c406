import type { CommandFile } from '../../command-file.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the rule').action(async (id) => {
    const client = await context.connect();
    const rule = await client.getRule({ params: { id } });
    await context.confirmByName(`Delete the rule ${id}? Its history stays.`, rule.name);
    const answer = await client.deleteRule({ params: { id } });
    context.output.print(answer, () => `Deleted ${id}`);
  });
};
