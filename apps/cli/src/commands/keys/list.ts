import type { CommandFile } from '../../command-file.ts';
import { KEY_COLUMNS } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const { keys } = await client.listKeys();
    context.output.printTable(keys, KEY_COLUMNS, 'No keys.');
  });
};
