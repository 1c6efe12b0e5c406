import { text } from 'node:stream/consumers';
import type { CommandContext, DefineCommand } from '../context.ts';
import { CommandError, EXIT, usageError } from '../errors.ts';
import type { Column } from '../output/table.ts';
import { clientWith } from '../platform-client.ts';

interface ProfileRow {
  readonly name: string;
  readonly url: string;
  readonly current: boolean;
}

const PROFILE_COLUMNS: readonly Column<ProfileRow>[] = [
  { title: '', value: ({ current }) => (current ? '*' : '') },
  { title: 'name', value: ({ name }) => name },
  { title: 'address', value: ({ url }) => url },
];

export const listProfiles: DefineCommand = (command, { output, profiles }) => {
  command.action(() => {
    const { current, profiles: stored } = profiles.read();
    const rows = Object.entries(stored).map(([name, { url }]) => ({ name, url, current: name === current }));
    output.printTable(rows, PROFILE_COLUMNS, 'No profiles yet. To create one: agentlens login');
  });
};

export const useProfile: DefineCommand = (command, { output, profiles }) => {
  command.argument('<name>', 'the profile to use').action((name) => {
    const { url } = profiles.use(name);
    output.print({ profile: name, url }, () => `Using the profile "${name}" (${url})`);
  });
};

export const login: DefineCommand = (command, context) => {
  command
    .argument('[profile]', 'name of the profile', 'default')
    .addHelpText('after', '\nPrompts for the key, or reads it from stdin: agentlens login --url https://… < key-file')
    .action(async (name) => {
      const { output, profiles } = context;
      // Resolves the address without --profile, because that profile may not exist yet.
      const { url } = context.connection();
      const key = await readKey(context, url);
      const connection = { url, urlSource: 'login', keys: [] };
      const me = await clientWith(key, context.clientOptions(connection)).getMe();
      profiles.save(name, { url, key });
      const { tenantId, keyName, scopes, version } = me;
      const saved = { profile: name, url, tenantId, keyName, scopes, version };
      output.print(saved, () => `Signed in to ${url}, tenant ${tenantId}, with the scopes ${scopes.join(', ')}`);
      output.note(`Saved as profile "${name}" in ${profiles.file}`);
    });
};

async function readKey(context: CommandContext, url: string): Promise<string> {
  const { prompt, host } = context;
  if (prompt === null && host.stdin.isTTY === true)
    throw usageError('Cannot prompt for the key with --no-input: pipe it to stdin.');
  const typed = prompt === null ? await text(host.stdin) : await prompt.askSecret(`API key for ${url}: `);
  const key = typed.trim();
  if (key !== '' && !/\s/.test(key)) return key;
  throw new CommandError('That is not an API key: a key is one word, such as agk_live_…', { exitCode: EXIT.usage });
}

export const logout: DefineCommand = (command, { output, profiles }) => {
  command.argument('[profile]', 'the profile; default: the current one').action((given) => {
    const name = given ?? profiles.read().current;
    if (name === undefined) throw usageError('No profile is selected.', 'To list profiles: agentlens profiles list');
    const { url } = profiles.remove(name);
    output.print({ profile: name, url }, () => `Removed the profile "${name}" (${url})`);
    output.note('The key stays valid. To revoke it: agentlens keys revoke');
  });
};
