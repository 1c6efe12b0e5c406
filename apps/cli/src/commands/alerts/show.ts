import type { CommandFile } from '../../command-file.ts';
import { alertDetails } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the alert').action(async (id) => {
    const client = await context.connect();
    const alert = await client.getAlert({ params: { id } });
    context.output.print(alert, () => alertDetails(alert, context.output.paint));
  });
};
