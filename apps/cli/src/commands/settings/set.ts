import type { Client } from '@agentlens/client';
import { usageError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import { members } from './show.ts';

type SettingsBody = NonNullable<Parameters<Client['patchSettings']>[0]>['body'];

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<name=value...>', 'like decisionFailMode=block').action(async (words) => {
    const changes = Object.fromEntries(words.map(change));
    const client = await context.connect();
    // The platform knows the settings and their values: what is typed here is only text.
    const settings = await client.patchSettings({ body: changes as SettingsBody });
    context.output.printDetails(settings, members(settings));
  });
};

function change(word: string): [string, unknown] {
  const at = word.indexOf('=');
  if (at < 1) throw usageError(`"${word}" is not like name=value`);
  return [word.slice(0, at), settingValue(word.slice(at + 1))];
}

/** `true`, `12` and `null` mean what they mean in JSON; everything else is text. */
function settingValue(text: string): unknown {
  return /^(true|false|null|-?\d+(\.\d+)?)$/.test(text) ? JSON.parse(text) : text;
}
