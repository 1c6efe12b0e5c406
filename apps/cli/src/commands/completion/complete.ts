import type { CommandFile } from '../../command-file.ts';
import { suggestions } from './suggestions.ts';

/** Called by the scripts of the shells. */
export const define: CommandFile['define'] = (command, context) => {
  command.argument('[words...]', 'the line so far, without the program').action(async (words) => {
    for (const word of await suggestions(words, context)) context.host.stdout.write(`${word}\n`);
  });
};
