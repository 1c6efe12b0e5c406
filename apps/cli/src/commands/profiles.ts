import { text } from 'node:stream/consumers';
import { ProblemError } from '@agentlens/client';
import type { CommandContext, DefineCommand } from '../context.ts';
import { CommandError, EXIT, UnreachableError, usageError } from '../errors.ts';
import type { Column } from '../output/table.ts';
import { clientWith } from '../platform-client.ts';
import { PROGRAM } from '../program-name.ts';
import { loginInConsole } from './console-login.ts';

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
    output.printTable(rows, PROFILE_COLUMNS, `No profiles yet. To create one: ${PROGRAM} login`);
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
    .option('--key', 'save a key instead of signing in; it is prompted for, or read from stdin')
    .option('--console', 'sign in through the console, also if stdin is not a terminal')
    .option('--mcp', 'for an MCP client: policies can treat its votes differently')
    .addHelpText(
      'after',
      '\nIf the platform has an identity provider, a person confirms in the console, and the profile gets a personal key.' +
        `\nOtherwise, and with --key, it needs a key: ${PROGRAM} login --key --url https://… < key-file`,
    )
    .action(async (name, options) => {
      const { output, profiles } = context;
      // Resolves the address without --profile, because that profile may not exist yet.
      const { url } = context.connection();
      const key = await getKey(context, url, options);
      const connection = { url, urlSource: 'login', keys: [] };
      const me = await clientWith(key, context.clientOptions(connection)).getMe();
      profiles.save(name, { url, key });
      const { tenantId, keyName, scopes, version } = me;
      const saved = { profile: name, url, tenantId, keyName, scopes, version };
      output.print(saved, () => `Signed in to ${url}, tenant ${tenantId}, with the scopes ${scopes.join(', ')}`);
      output.note(`Saved as profile "${name}" in ${profiles.file}`);
    });
};

interface LoginOptions {
  readonly key?: true | undefined;
  readonly console?: true | undefined;
  readonly mcp?: true | undefined;
}

/** A personal key where people sign in with a provider and a terminal is there, else a key that the user has. */
async function getKey(context: CommandContext, url: string, options: LoginOptions): Promise<string> {
  const { prompt, output } = context;
  if (options.key === true) return readKey(context, url);
  const mayConfirm = options.console === true || (prompt !== null && (await hasProvider(context, url)));
  if (!mayConfirm) return readKey(context, url);
  const { key, person } = await loginInConsole(context, url, options.mcp === true ? 'mcp' : 'cli');
  output.note(`Confirmed by ${person}.`);
  return key;
}

async function hasProvider(context: CommandContext, url: string): Promise<boolean> {
  const client = clientWith(undefined, context.clientOptions({ url, urlSource: 'login', keys: [] }));
  return (await client.getSignInOptions()).providers.length > 0;
}

async function readKey(context: CommandContext, url: string): Promise<string> {
  const { prompt, host } = context;
  if (prompt === null && host.stdin.isTTY === true)
    throw usageError('Cannot prompt for the key with --no-input: pipe it to stdin.');
  const typed = prompt === null ? await text(host.stdin) : await prompt.askSecret(`API key for ${url}: `);
  const key = typed.trim();
  if (key !== '' && !/\s/.test(key)) return key;
  throw new CommandError('That is not an API key: a key is one word, such as agk_live_…', { exitCode: EXIT.usage });
}

export const logout: DefineCommand = (command, context) => {
  command
    .argument('[profile]', 'the profile; default: the current one')
    .option('--local', 'only remove the profile, for example if the platform is gone')
    .addHelpText('after', `\nA key of a program stays valid; to revoke it: ${PROGRAM} keys revoke`)
    .action(async (given, { local }) => {
      const { output, profiles } = context;
      const { current, profiles: stored } = profiles.read();
      const name = given ?? current;
      if (name === undefined) throw usageError('No profile is selected.', `To list profiles: ${PROGRAM} profiles list`);
      const profile = stored[name];
      const ended = local === true || profile === undefined ? 'kept' : await endKey(context, profile);
      const { url } = profiles.remove(name);
      output.print({ profile: name, url, key: ended }, () => `Removed the profile "${name}" (${url})`);
      output.note(KEY_ENDED[ended]);
    });
};

const KEY_ENDED = {
  revoked: 'Its personal key is revoked.',
  invalid: 'Its key had ended before.',
  kept: `The key stays valid. To revoke it: ${PROGRAM} keys revoke`,
} as const;

/** Revokes the key of a profile if it belongs to a person. A program may use its key elsewhere. */
async function endKey(
  context: CommandContext,
  { url, key }: { readonly url: string; readonly key: string },
): Promise<keyof typeof KEY_ENDED> {
  const client = clientWith(key, context.clientOptions({ url, urlSource: 'logout', keys: [] }));
  try {
    const { person, keyId } = await client.getMe();
    if (person === undefined) return 'kept';
    await client.deletePersonalKey({ params: { id: keyId } });
    return 'revoked';
  } catch (error) {
    if (error instanceof ProblemError && error.status === 401) return 'invalid';
    if (!(error instanceof UnreachableError)) throw error;
    throw new CommandError(`The key was not revoked: ${error.message}`, {
      exitCode: error.exitCode,
      hint: `To remove only the profile: ${PROGRAM} logout --local`,
    });
  }
}

export const whoami: DefineCommand = (command, context) => {
  command.action(async () => {
    const me = await (await context.connect()).getMe();
    const { tenantId, keyName, scopes, person, version } = me;
    const who: [string, string][] =
      person === undefined
        ? [['Key', keyName]]
        : [
            ['Person', `${person.name}, ${person.via}`],
            [
              'Roles',
              person.grants.map(({ role, team }) => (team === undefined ? role : `${role} for ${team}`)).join(', '),
            ],
            ['Teams', person.teams.join(', ') || 'none'],
          ];
    context.output.printDetails(me, [
      ...who,
      ['Tenant', tenantId],
      ['Scopes', scopes.join(', ')],
      ['Platform', version],
    ]);
  });
};
