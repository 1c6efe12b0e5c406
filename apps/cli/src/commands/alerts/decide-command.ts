import type { Client } from '@agentlens/client';
import type { CommandFile } from '../../command-file.ts';
import { alertDetails } from './columns.ts';

type Deciding = 'approveAlert' | 'denyAlert' | 'cancelAlert' | 'acknowledgeAlert';

/** The command that does one of the four things a person can do with an alert. */
export function decideCommand(operation: Deciding): CommandFile['define'] {
  return (command, context) => {
    command
      .argument('<id>', 'the alert')
      .option('--reason <text>', 'why, for the audit and for the agent')
      .action(async (id, { reason }) => {
        const decide: Client[Deciding] = (await context.connect())[operation];
        const alert = await decide({ params: { id }, body: { reason } });
        context.output.print(alert, () => alertDetails(alert, context.output.paint));
      });
  };
}
