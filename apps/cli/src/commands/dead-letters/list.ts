import type { CommandFile } from '../../command-file.ts';
import { instant } from '../../output/format.ts';
import type { Column } from '../../output/table.ts';
import { type DeadLetterRow, withBus } from './with-bus.ts';

const COLUMNS: readonly Column<DeadLetterRow>[] = [
  { title: 'failed', value: ({ failedAt }) => instant(failedAt) },
  { title: 'group', value: ({ group }) => group },
  { title: 'message', value: ({ messageId }) => messageId },
  { title: 'subject', value: ({ subject }) => subject },
  { title: 'attempts', value: ({ attempts }) => attempts, align: 'right' },
  { title: 'reason', value: ({ reason }) => reason },
];

export const define: CommandFile['define'] = (command, { host, output }) => {
  command
    .argument('[group]', 'what this consumer group gave up on; without it, what any did')
    .addHelpText('after', '\nNATS_URL names the server; by default the one of "npm run start:distributed".')
    .action(async (group) => {
      const letters = await withBus(host, (bus) => bus.deadLetters(group));
      output.printTable(letters, COLUMNS, `no dead letters${group === undefined ? '' : ` of ${group}`}`);
    });
};
