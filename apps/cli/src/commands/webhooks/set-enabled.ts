import type { CommandFile } from '../../command-file.ts';
import { webhookMembers } from './details.ts';

/** The command that switches a webhook on or off. */
export function setWebhookEnabled(enabled: boolean): CommandFile['define'] {
  return (command, context) => {
    command.argument('<id>', 'the webhook').action(async (id) => {
      const client = await context.connect();
      const webhook = await client.updateWebhook({ params: { id }, body: { enabled } });
      context.output.printDetails(webhook, webhookMembers(webhook));
    });
  };
}
