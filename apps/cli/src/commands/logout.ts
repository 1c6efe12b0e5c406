import { usageError } from '../command-error.ts';
import type { CommandFile } from '../command-file.ts';

export const define: CommandFile['define'] = (command, { output, profiles }) => {
  command.argument('[profile]', 'the one in use, unless given').action((given) => {
    const name = given ?? profiles.read().current;
    if (name === undefined) throw usageError('No profile is in use.', 'Name one: agentlens profiles list');
    const { url } = profiles.remove(name);
    output.print({ profile: name, url }, () => `Removed the profile "${name}" of ${url}`);
    output.note('The key itself stays valid: "agentlens keys revoke" ends it.');
  });
};
