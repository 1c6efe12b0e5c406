import { Command } from 'commander';
import {
  addGlobalOptions,
  type CommandContext,
  type CommandTree,
  type DefineCommand,
  type LazyCommand,
} from '../context.ts';
import { oneOf } from '../parse.ts';
import { COMMANDS } from './index.ts';

/** Completions for the last word. */
async function suggestions(words: readonly string[], context: CommandContext): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const { tree, command } = reached(words.slice(0, -1));
  const candidates = typed.startsWith('-')
    ? await optionsAt(command, context)
    : Object.entries(tree).flatMap(([name, entry]) => (isHidden(entry) ? [] : [name]));
  return candidates.filter((candidate) => candidate.startsWith(typed)).sort();
}

interface Reached {
  /** Commands that can follow. */
  readonly tree: CommandTree;
  readonly command?: LazyCommand;
}

/** Resolves the words to a position in the command tree, skipping options and arguments. */
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

/** Options of a command, including the global ones. */
async function optionsAt(lazy: LazyCommand | undefined, context: CommandContext): Promise<string[]> {
  const command = addGlobalOptions(new Command());
  const define = await lazy?.load();
  define?.(command as never, context);
  return ['--help', ...command.options.flatMap(({ long }) => long ?? [])];
}

function isHidden(entry: CommandTree[string]): boolean {
  return 'load' in entry && entry.hidden === true;
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Each script calls the CLI for suggestions, so it never goes stale. */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `_agentlens() {
  local IFS=$'\\n'
  COMPREPLY=($(agentlens complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _agentlens agentlens`,
  zsh: `#compdef agentlens
_agentlens() {
  local -a found
  found=("\${(@f)$(agentlens complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- $found
}
compdef _agentlens agentlens`,
  fish: `function __agentlens_complete
  set -l before (commandline -opc)
  agentlens complete -- $before[2..] (commandline -ct) 2>/dev/null
end
complete -c agentlens -f -a '(__agentlens_complete)'`,
};

const INSTALL = `
bash:  agentlens completion bash >> ~/.bashrc
zsh:   agentlens completion zsh >> ~/.zshrc     (after compinit)
fish:  agentlens completion fish > ~/.config/fish/completions/agentlens.fish`;

export const completion: DefineCommand = (command, { output }) => {
  command
    .argument('<shell>', SHELLS.join(', '), oneOf(SHELLS))
    .addHelpText('after', INSTALL)
    .action((shell) => output.print({ shell, script: SCRIPTS[shell] }, () => SCRIPTS[shell]));
};

/** Called by the shell scripts. */
export const complete: DefineCommand = (command, context) => {
  command.argument('[words...]', 'the words typed so far, without the program name').action(async (words) => {
    for (const word of await suggestions(words, context)) context.host.stdout.write(`${word}\n`);
  });
};
