import { Command } from 'commander';
import type { CommandTree, LazyCommand } from '../../command-file.ts';
import type { CommandContext } from '../../context.ts';
import { addGlobalOptions } from '../../global-options.ts';
import { COMMANDS } from '../index.ts';

/** What may stand in the place of the last word, as far as it is typed. */
export async function suggestions(words: readonly string[], context: CommandContext): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const { tree, command } = reached(words.slice(0, -1));
  const candidates = typed.startsWith('-')
    ? await optionsAt(command, context)
    : Object.entries(tree).flatMap(([name, entry]) => (isHidden(entry) ? [] : [name]));
  return candidates.filter((candidate) => candidate.startsWith(typed)).sort();
}

interface Reached {
  /** The commands that may follow. */
  readonly tree: CommandTree;
  readonly command?: LazyCommand;
}

/** Where the words lead; options and arguments in between are passed over. */
function reached(words: readonly string[]): Reached {
  let at: Reached = { tree: COMMANDS };
  for (const word of words) {
    const entry = Object.entries(at.tree).find(
      ([name, candidate]) => name === word || ('alias' in candidate && candidate.alias === word),
    )?.[1];
    if (entry !== undefined) at = 'load' in entry ? { tree: {}, command: entry } : { tree: entry.commands };
  }
  return at;
}

/** The options of a command, which take those of every command after them. */
async function optionsAt(lazy: LazyCommand | undefined, context: CommandContext): Promise<string[]> {
  const command = addGlobalOptions(new Command());
  const file = await lazy?.load();
  file?.define(command as never, context);
  return ['--help', ...command.options.flatMap(({ long }) => long ?? [])];
}

function isHidden(entry: CommandTree[string]): boolean {
  return 'load' in entry && entry.hidden === true;
}
