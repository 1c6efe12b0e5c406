import {
  type Argv,
  baseName,
  findExecCommands,
  findVerb,
  findVerbWrapper,
  findWrapper,
  hasCode,
  isDatabase,
  isInterpreter,
  isShell,
  type Wrapper,
} from './programs.ts';
import type { CommandInput } from './reader.ts';

/** Where the program of a shell or an interpreter comes from. `code` is text that is not read here. */
export type ScriptSource = 'none' | 'text' | 'code' | 'file' | 'input';

interface InlineScript {
  /** Null if it is not known before it runs. */
  readonly text: string | null;
  readonly remote: boolean;
}

/** A command among the words of another one. */
interface InnerCommand {
  readonly from: number;
  readonly length: number;
  readonly remote: boolean;
  /** The folder that an option names; null if it cannot be read. */
  readonly folder?: string | null;
}

/** Scripts among the words and the input of a command, and where its program comes from. */
export function inlineScripts(
  argv: Argv,
  input: CommandInput,
): { readonly scripts: readonly InlineScript[]; readonly source: ScriptSource } {
  const [program, ...args] = argv;
  if (program === null || program === undefined) return { scripts: [], source: 'none' };
  const name = baseName(program);
  const local = (text: string | null) => ({ text, remote: false });
  if (name === 'eval') return { scripts: [local(args.includes(null) ? null : args.join(' '))], source: 'text' };
  if (name === 'source' || name === '.') return { scripts: [], source: 'file' };
  if (isShell(name)) return shellScripts(args, input);
  if (isInterpreter(name) || isDatabase(name)) return { scripts: [], source: interpreterSource(name, args, input) };
  if (name === 'trap') {
    const [action] = args;
    return action === undefined ? { scripts: [], source: 'none' } : { scripts: [local(action)], source: 'text' };
  }
  if (name === 'find' || name === 'fd') return { scripts: [], source: 'none' };
  const wrapper = wrapperIn(name, args);
  if (wrapper === undefined) return { scripts: [], source: 'none' };
  if (wrapper.row === null) {
    const texts = args.filter((word) => word === null || /\s/.test(word));
    return { scripts: texts.map(local), source: texts.length === 0 ? 'none' : 'text' };
  }
  const scripts = wrapperScripts(wrapper.row, args.slice(wrapper.at));
  return { scripts, source: scripts.length === 0 ? 'none' : 'text' };
}

function shellScripts(args: Argv, input: CommandInput): ReturnType<typeof inlineScripts> {
  const at = args.findIndex((word) => word !== null && /^-[A-Za-z]*c[A-Za-z]*$|^-Command$/i.test(word));
  if (at !== -1) {
    const text = args.slice(at + 1).find((word) => word === null || !word.startsWith('-')) ?? null;
    return { scripts: [{ text, remote: false }], source: 'text' };
  }
  const isBare = args.every((word) => word?.startsWith('-') === true);
  const readsInput = isBare || args.includes('-s');
  if (!readsInput) return { scripts: [], source: 'file' };
  if (typeof input !== 'object') return { scripts: [], source: 'input' };
  return { scripts: [{ text: input.text, remote: false }], source: 'text' };
}

function interpreterSource(name: string, args: Argv, input: CommandInput): ScriptSource {
  if (args.some((word) => word !== null && /^(?:--?v(?:ersion)?|-V|--help|-h)$/.test(word)) && !hasCode(args))
    return isDatabase(name) && args.includes('-h') ? databaseSource(args, input) : 'none';
  if (hasCode(args)) return 'code';
  if (isDatabase(name)) return databaseSource(args, input);
  const isBare = args.every((word) => word?.startsWith('-') === true);
  return isBare || args[0] === '-' ? 'input' : 'file';
}

/** The words of a database client name a database, not a script. */
function databaseSource(args: Argv, input: CommandInput): ScriptSource {
  if (args.some((word) => word === '-f' || word?.startsWith('--file') === true)) return 'file';
  if (input !== 'none') return 'code';
  return args.some((word) => word !== null && /\s/.test(word)) ? 'code' : 'input';
}

/** The row of a program or of its verb, and where the words of the row begin. */
function wrapperIn(name: string, args: Argv): { readonly row: Wrapper | null; readonly at: number } | undefined {
  const row = findWrapper(name);
  if (row !== undefined) return { row, at: 0 };
  const at = findVerb(name, args);
  const verb = args[at];
  const inner = typeof verb === 'string' ? findVerbWrapper(name, verb) : undefined;
  return inner === undefined ? undefined : { row: inner, at: at + 1 };
}

interface Layout {
  /** Where the command begins. */
  readonly at: number;
  /** Words between the options and the command were there. */
  readonly whole: boolean;
  readonly scripts: readonly (string | null)[];
  readonly folder: string | null | undefined;
}

/** Walks the options of a wrapper. */
function readLayout(
  { valued = [], before = 0, assigns, scripts: scriptOptions = [], folder: folderOptions = [] }: Wrapper,
  args: Argv,
): Layout {
  const scripts: (string | null)[] = [];
  let folder: string | null | undefined;
  let left = before;
  let at = 0;
  while (at < args.length) {
    const word = args[at];
    if (word === null || word === undefined) break;
    const attached = attachedValue(word, [...scriptOptions, ...folderOptions]);
    if (attached !== undefined) {
      if (scriptOptions.includes(attached.option)) scripts.push(attached.value);
      else folder = attached.value;
      at++;
    } else if (scriptOptions.includes(word) || folderOptions.includes(word)) {
      const value = args[at + 1] ?? null;
      if (scriptOptions.includes(word)) scripts.push(value);
      else folder = value;
      at += 2;
    } else if (valued.includes(word)) at += 2;
    else if (word === '--') {
      at++;
      if (left === 0) break;
    } else if (word.startsWith('-') || (assigns === true && /^[A-Za-z_]\w*=/.test(word))) at++;
    else if (left > 0) {
      left--;
      at++;
    } else break;
  }
  return { at, whole: left === 0, scripts, folder };
}

/** `-Sx`, `--split-string=x`: a value that is a part of its option. */
function attachedValue(word: string, options: readonly string[]): { option: string; value: string } | undefined {
  for (const option of options) {
    const isLong = option.startsWith('--');
    const prefix = isLong ? `${option}=` : option;
    if (word.length > prefix.length && word.startsWith(prefix) && (isLong || !word.startsWith('--')))
      return { option, value: word.slice(prefix.length) };
  }
  return undefined;
}

function wrapperScripts(row: Wrapper, args: Argv): InlineScript[] {
  const { at, whole, scripts } = readLayout(row, args);
  const remote = row.remote === true;
  const texts = [...scripts];
  const rest = args.slice(at);
  if (row.joined === true && whole && rest.length > 0) texts.push(rest.includes(null) ? null : rest.join(' '));
  return texts.map((text) => ({ text, remote }));
}

/** The commands among the words of a wrapper. @param every each word may begin one, also in rows that are known */
export function innerCommands(argv: Argv, { every }: { readonly every: boolean }): readonly InnerCommand[] {
  const [program, ...args] = argv;
  if (program === null || program === undefined) return [];
  const name = baseName(program);
  const known = wrapperIn(name, args);
  if (known === undefined) return [];
  if (name === 'find' && (!every || !args.includes(null)))
    return findExecCommands(args).map((inner) => ({
      from: findFrom(args, inner) + 1,
      length: inner.length,
      remote: false,
    }));
  if (every || known.row === null) return everySuffix(argv);
  const { at, whole, folder } = readLayout(known.row, args.slice(known.at));
  const from = 1 + known.at + at;
  if (known.row.joined === true || !whole || from >= argv.length) return [];
  return [{ from, length: argv.length - from, remote: known.row.remote === true, folder }];
}

/** A wrapper's argument may be the command it runs; which one is unknown without knowing all of its options. */
function everySuffix(argv: Argv): InnerCommand[] {
  const found: InnerCommand[] = [];
  for (let from = 1; from < argv.length; from++)
    if (argv[from]?.startsWith('-') !== true) found.push({ from, length: argv.length - from, remote: false });
  return found;
}

function findFrom(args: Argv, inner: Argv): number {
  for (let at = 0; at <= args.length - inner.length; at++)
    if (/^-(?:exec|ok)(?:dir)?$/.test(args[at - 1] ?? '') && inner.every((word, index) => args[at + index] === word))
      return at;
  return args.length;
}
