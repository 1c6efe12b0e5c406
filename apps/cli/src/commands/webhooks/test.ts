import type { CommandFile } from '../../command-file.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the webhook').action(async (id) => {
    const client = await context.connect();
    const answer = await client.testWebhook({ params: { id } });
    context.output.print(answer, () => `Sent as delivery ${answer.deliveryId}`);
    context.output.note(`What came of it: agentlens webhooks deliveries ${id}`);
  });
};
