import { CommandError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import { EXIT } from '../../exit-codes.ts';
import { withBus } from './with-bus.ts';

export const define: CommandFile['define'] = (command, { host, output }) => {
  command
    .argument('<group>', 'the consumer group that gave up')
    .argument('<message>', 'the id of the message')
    .action(async (group, messageId) => {
      if (await withBus(host, (bus) => bus.redrive(group, messageId))) {
        output.print({ group, messageId }, () => `sent again: ${messageId} to ${group}`);
        return;
      }
      throw new CommandError(`${group} has no dead letter ${messageId}`, {
        exitCode: EXIT.notFoundOrConflict,
        hint: '"agentlens dead-letters list" shows all there are.',
      });
    });
};
