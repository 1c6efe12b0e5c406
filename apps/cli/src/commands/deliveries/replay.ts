import type { CommandFile } from '../../command-file.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the delivery').action(async (id) => {
    const client = await context.connect();
    const answer = await client.redeliver({ params: { id } });
    context.output.print(answer, () => `Carried out once more: ${answer.deliveryId}`);
  });
};
