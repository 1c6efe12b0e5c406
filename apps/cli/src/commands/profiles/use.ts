import type { CommandFile } from '../../command-file.ts';

export const define: CommandFile['define'] = (command, { output, profiles }) => {
  command.argument('<name>', 'the profile to use from now on').action((name) => {
    const { url } = profiles.use(name);
    output.print({ profile: name, url }, () => `Using the profile "${name}" of ${url}`);
  });
};
