import type { CommandFile } from '../../command-file.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the webhook').action(async (id) => {
    const client = await context.connect();
    const { name, url } = await client.getWebhook({ params: { id } });
    await context.confirmByName(`Delete the webhook to ${url}? Its log stays.`, name ?? id);
    const answer = await client.deleteWebhook({ params: { id } });
    context.output.print(answer, () => `Deleted ${id}`);
  });
};
