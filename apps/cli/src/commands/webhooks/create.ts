import type { CommandFile } from '../../command-file.ts';
import { oneOf, someOf } from '../../parse/one-of.ts';
import { printNewWebhook } from './details.ts';

const EVENTS = ['approvals', 'alerts', 'triggers', 'orders', 'breakers', 'budgets', 'audit'] as const;
const FORMATS = ['standard', 'slack'] as const;

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<address>', 'where to send to')
    .requiredOption('--events <words>', `${EVENTS.join(', ')}; several with commas`, someOf(EVENTS))
    .option('--format <word>', FORMATS.join(', '), oneOf(FORMATS), 'standard')
    .option('--name <text>', 'what to call it')
    .action(async (url, { events, format, name }) => {
      const client = await context.connect();
      printNewWebhook(context, await client.createWebhook({ body: { url, events, format, name } }));
    });
};
