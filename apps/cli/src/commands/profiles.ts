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
    output.printTable(rows, PROFILE_COLUMNS, 'No profiles yet: agentlens login');
  });
};

export const useProfile: DefineCommand = (command, { output, profiles }) => {
  command.argument('<name>', 'the profile to use from now on').action((name) => {
    const { url } = profiles.use(name);
    output.print({ profile: name, url }, () => `Using the profile "${name}" of ${url}`);
  });
};

export const login: DefineCommand = (command, context) => {
  command
    .argument('[profile]', 'what to call it', 'default')
    .addHelpText('after', '\nThe key is asked for, or read from stdin: agentlens login --url https://… < key-file')
    .action(async (name) => {
      const { output, profiles } = context;
      // A new profile may have the name that --profile would look up.
      const { url } = context.connection();
      const key = await readKey(context, url);
      const connection = { url, urlSource: 'login', keys: [] };
      const me = await clientWith(key, context.clientOptions(connection)).getMe();
      profiles.save(name, { url, key });
      const { tenantId, keyName, scopes, version } = me;
      const saved = { profile: name, url, tenantId, keyName, scopes, version };
      output.print(saved, () => `Signed in to ${url}, tenant ${tenantId}, with the scopes ${scopes.join(', ')}`);
      output.note(`Kept as profile "${name}" in ${profiles.file}`);
    });
};

async function readKey(context: CommandContext, url: string): Promise<string> {
  const { prompt, host } = context;
  if (prompt === null && host.stdin.isTTY === true) throw usageError('Nobody can be asked for the key: pipe it in.');
  const typed = prompt === null ? await text(host.stdin) : await prompt.askSecret(`API key for ${url}: `);
  const key = typed.trim();
  if (key !== '' && !/\s/.test(key)) return key;
  throw new CommandError('That is not an API key: it is one word, like agk_live_…', { exitCode: EXIT.usage });
}

export const logout: DefineCommand = (command, { output, profiles }) => {
  command.argument('[profile]', 'the one in use, unless given').action((given) => {
    const name = given ?? profiles.read().current;
    if (name === undefined) throw usageError('No profile is in use.', 'Name one: agentlens profiles list');
    const { url } = profiles.remove(name);
    output.print({ profile: name, url }, () => `Removed the profile "${name}" of ${url}`);
    output.note('The key itself stays valid: "agentlens keys revoke" ends it.');
  });
};
