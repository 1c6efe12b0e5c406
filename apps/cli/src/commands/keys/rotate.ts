import type { CommandFile } from '../../command-file.ts';
import { printNewKey } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the key to replace').action(async (id) => {
    const client = await context.connect();
    const made = await client.rotateKey({ params: { id } });
    printNewKey(context, made);
    context.output.note(`The old key ${made.previous.id} works until ${made.previous.expiresAt ?? 'it is revoked'}.`);
  });
};
