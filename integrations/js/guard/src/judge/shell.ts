import {
  destroys,
  findWrites,
  isDatabase,
  isInterpreter,
  isShell,
  nameCommand,
  type NamedCommand,
  type Places,
  publishes,
  reachesNetwork,
  readShell,
  resolveText,
  type ShellCommand,
} from '@agentlens/shell';

/** A path of a shell line. */
export interface ShellPath {
  /** As it stands in the line. */
  readonly text: string;
  /** From the folder of its command; null if the line does not say where it leads. */
  readonly path: string | null;
}

/** What a shell line does, as far as it can be read. */
export interface ShellFindings {
  readonly tags: ReadonlySet<string>;
  /** Paths that are written, removed or moved. */
  readonly writes: readonly ShellPath[];
  /** Paths that go away or move, with everything below them. */
  readonly moves: readonly ShellPath[];
  /** Every word that may be a path. */
  readonly paths: readonly ShellPath[];
  /** Turns the guard or the hooks of a host off. */
  readonly disarms: boolean;
}

interface Collected extends ShellFindings {
  readonly tags: Set<string>;
  readonly writes: ShellPath[];
  readonly moves: ShellPath[];
  readonly paths: ShellPath[];
  disarms: boolean;
}

const ADDRESS = /\b(?:https?|ftp|wss?|git|ssh):\/\//i;
/** Options, settings and variables that turn hooks off, in code that is not read as commands. */
const SWITCHES =
  /disableAllHooks|hooksConfig|features\.hooks|hooks\s*=\s*false|OPENCODE_PURE|allowManagedHooksOnly|agentlens[ -](?:guard|hook)/;

export function shellFindings(line: string, places: Places = {}): ShellFindings {
  const found: Collected = { tags: new Set(['shell']), writes: [], moves: [], paths: [], disarms: false };
  const { commands, opaque } = readShell(line, places);
  if (opaque) found.tags.add('opaque');
  for (const command of commands) judge(command, found, places);
  return found;
}

function judge(command: ShellCommand, found: Collected, places: Places): void {
  const { tags } = found;
  const { argv, texts, substitutes } = command;
  const named = nameCommand(texts);
  const at = (text: string): ShellPath => ({ text, path: resolveText({ current: command.folder }, text, places) });
  if (substitutes || (argv.length > 0 && argv[0] === null)) tags.add('opaque');
  // Paths on another machine say nothing about this one.
  if (!command.remote) {
    const { writes, moves } = findWrites(named);
    found.writes.push(...[...command.writes, ...writes].map(at));
    found.moves.push(...moves.map(at));
    found.paths.push(...[...command.reads, ...command.writes, ...pathsIn(named)].map(at));
  }
  judgeScript(command, named, tags);
  if (named.name === 'sudo' || named.name === 'doas' || named.name === 'su') tags.add('elevated');
  if (named.name === 'base64' && named.args.some((word) => /^(?:-d|-D|--decode)$/.test(word))) tags.add('opaque');
  if (reachesNetwork(named) || isAddressed(command, named)) tags.add('network');
  if (publishes(named)) tags.add('publish').add('network');
  if (destroys(named, typeof command.input === 'object' ? (command.input.text ?? '') : '')) tags.add('destructive');
  found.disarms ||= disarms(command, named);
}

/** Words that may be paths, also those that are a part of their option. */
function pathsIn({ args }: NamedCommand): string[] {
  return args.flatMap((word) => {
    if (!word.startsWith('-'))
      return [word, ...(/^[\w.-]+=(?=.)/.test(word) ? [word.slice(word.indexOf('=') + 1)] : [])];
    const [, value] = /^--?[\w-]+=(.+)$/s.exec(word) ?? [];
    return value === undefined ? [] : [value];
  });
}

/** An address in a message or a search pattern is no connection. */
function isAddressed({ writes, reads }: ShellCommand, { name, args }: NamedCommand): boolean {
  if ([...reads, ...writes].some((path) => /^\/dev\/(?:tcp|udp)\//.test(path))) return true;
  return !/^(?:grep|egrep|fgrep|rg|sed|awk|git)$/.test(name) && args.some((word) => ADDRESS.test(word));
}

function judgeScript({ argv, script, input }: ShellCommand, { name, args }: NamedCommand, tags: Set<string>): void {
  if (argv[0] === null || argv[0] === undefined) return;
  if (name === 'eval') tags.add('opaque');
  else if (script === 'code' && !isDatabase(name)) tags.add('opaque');
  else if (script === 'file' && !isInterpreter(name)) tags.add('opaque');
  else if (script === 'code' && input === 'pipe') tags.add('opaque');
  else if (script === 'input') tags.add(input === 'none' ? 'interactive' : 'opaque');
  if (isInterpreter(name) && input === 'pipe' && script === 'file' && args[0] === '-') tags.add('opaque');
  if (name === 'ssh' && args.filter((word) => !word.startsWith('-')).length < 2) tags.add('interactive');
}

const HOST_SWITCHES: Readonly<Record<string, (args: readonly string[]) => boolean>> = {
  claude: (args) =>
    args.some((word) => /^--(?:bare|setting-sources)(?:=|$)/.test(word) || /disableAllHooks/.test(word)),
  opencode: (args) => args.includes('--pure'),
  codex: (args) =>
    args.some((word, at) => /^--disable(?:=hooks|$)/.test(word) && (word.includes('=') || args[at + 1] === 'hooks')) ||
    args.some((word) => /^--dangerously-bypass-hook-trust$|hooks\s*=/.test(word)),
};

/** Verbs that only show something. */
const HARMLESS_VERBS = new Set(['status', 'audit', 'rules', 'doctor']);

function disarms({ assignments, argv, texts, script, input }: ShellCommand, { name, args }: NamedCommand): boolean {
  if (assignments.some((text) => text.startsWith('OPENCODE_PURE='))) return true;
  if (argv.length === 0) return false;
  if ((name === 'export' || name === 'env') && args.some((word) => word.startsWith('OPENCODE_PURE='))) return true;
  if (name === 'agentlens-hook') return true;
  const own =
    args[0] === '@agentlens/cli' ? args.slice(1) : name === 'agentlens' || name === 'agentlens.js' ? args : undefined;
  if (own?.[0] === 'guard') return !HARMLESS_VERBS.has(own[1] ?? '') && !own.includes('--help');
  if (Object.hasOwn(HOST_SWITCHES, name) && HOST_SWITCHES[name]?.(args) === true) return true;
  // Code of an interpreter is not read, but what it names is.
  const code = script === 'code' || (!isShell(name) && isInterpreter(name)) ? texts.join(' ') : '';
  const given = code !== '' && typeof input === 'object' ? (input.text ?? '') : '';
  return SWITCHES.test(`${code}\n${given}`);
}
