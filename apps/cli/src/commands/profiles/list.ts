import type { CommandFile } from '../../command-file.ts';
import type { Column } from '../../output/table.ts';

interface ProfileRow {
  readonly name: string;
  readonly url: string;
  readonly current: boolean;
}

const COLUMNS: readonly Column<ProfileRow>[] = [
  { title: '', value: ({ current }) => (current ? '*' : '') },
  { title: 'name', value: ({ name }) => name },
  { title: 'address', value: ({ url }) => url },
];

export const define: CommandFile['define'] = (command, { output, profiles }) => {
  command.action(() => {
    const { current, profiles: stored } = profiles.read();
    const rows = Object.entries(stored).map(([name, { url }]) => ({ name, url, current: name === current }));
    output.printTable(rows, COLUMNS, 'No profiles yet: agentlens login');
  });
};
