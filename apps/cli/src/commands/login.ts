import { text } from 'node:stream/consumers';
import { CommandError, usageError } from '../command-error.ts';
import type { CommandFile } from '../command-file.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { clientWith } from '../platform-client.ts';

export const define: CommandFile['define'] = (command, context) => {
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
