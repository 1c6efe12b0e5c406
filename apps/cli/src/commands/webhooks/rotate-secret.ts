import type { CommandFile } from '../../command-file.ts';
import { printNewWebhook } from './details.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the webhook').action(async (id) => {
    const client = await context.connect();
    printNewWebhook(context, await client.rotateWebhookSecret({ params: { id } }));
  });
};
