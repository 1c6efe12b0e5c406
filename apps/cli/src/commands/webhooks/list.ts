import type { CommandFile } from '../../command-file.ts';
import { WEBHOOK_COLUMNS } from './details.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const { webhooks } = await client.listWebhooks();
    context.output.printTable(webhooks, WEBHOOK_COLUMNS, 'No webhooks.');
  });
};
