import { Command, CommanderError } from 'commander';
import { COMMANDS } from './commands/index.ts';
import {
  addGlobalOptions,
  CommandContext,
  type CommandTree,
  type GlobalOptions,
  type Host,
  type LazyCommand,
} from './context.ts';
import { describeError, EXIT } from './errors.ts';
import { PROGRAM } from './program-name.ts';

const LEARN_MORE = `
Settings, the strongest first: options, AGENTLENS_URL and AGENTLENS_API_KEY, the profile ("${PROGRAM} login"), and a
platform that was started in this folder. A key is never given on the command line.

Exit codes: 0 done, 1 failed, 2 plan with changes, 3 denied or blocked, 4 not allowed, 5 not found or conflict,
6 unreachable or timed out, 64 wrong usage, 130 interrupted.`;

/** Runs one command line. @returns the exit code */
export async function run(words: readonly string[], host: Host): Promise<number> {
  const program = buildProgram(host);
  try {
    await program.parseAsync(withoutHelpOfNothing(program, words), { from: 'user' });
    return host.signal.aborted ? EXIT.interrupted : EXIT.ok;
  } catch (error) {
    return exitCodeOf(error, host);
  }
}

/** Help of a command that does not exist would be the general help, as if it existed; without it, it is an error. */
function withoutHelpOfNothing(program: Command, words: readonly string[]): readonly string[] {
  const others = words.filter((word) => word !== '--help' && word !== '-h');
  const [first] = program.parseOptions(others).operands;
  const isKnown = program.commands.some((one) => one.name() === first || one.aliases().includes(first ?? ''));
  return first === undefined || first === 'help' || isKnown ? words : others;
}

function exitCodeOf(error: unknown, host: Host): number {
  // Commander has already printed the message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (host.signal.aborted) return EXIT.interrupted;
  const { exitCode, lines } = describeError(error);
  host.stderr.write(`${lines.join('\n')}\n`);
  return exitCode;
}

/** Builds the command tree; a command adds its options when it is reached. */
function buildProgram(host: Host): Command {
  const program = new Command('agentlens')
    .description('Watch, steer and guard AI agents.')
    .version(host.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .configureOutput({ writeOut: (text) => host.stdout.write(text), writeErr: (text) => host.stderr.write(text) })
    .addHelpText('after', LEARN_MORE)
    .showHelpAfterError('(use --help after a command for its usage)')
    .exitOverride();
  addGlobalOptions(program);
  const context = new CommandContext(host, () => program.opts<GlobalOptions>());
  addCommands(program, COMMANDS, context);
  return program;
}

function addCommands(parent: Command, tree: CommandTree, context: CommandContext, usual?: string): void {
  const lazy = new Map<Command, LazyCommand>();
  for (const [name, entry] of Object.entries(tree)) {
    const hidden = 'hidden' in entry && entry.hidden;
    const command = parent.command(name, { isDefault: name === usual, hidden }).description(entry.summary);
    if ('load' in entry) lazy.set(command, entry);
    else {
      if (entry.alias !== undefined) command.alias(entry.alias);
      addCommands(command, entry.commands, context, entry.usual);
    }
  }
  parent.hook('preSubcommand', async (_parent, command) => {
    const define = await lazy.get(command)?.load();
    define?.(command as never, context);
  });
}
