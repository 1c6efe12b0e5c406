import { type Command, forEachChild, type ParsedScript, parse, type SyntaxNode, type Word } from 'unbash';
import { plainCommands } from './plain-commands.ts';
import { baseName, inlineScriptsOf, isInterpreter, isShell, startedBy, WRAPPERS } from './shell-programs.ts';

/** A word that is unknown before the shell runs it is null. */
export type Argv = readonly (string | null)[];

/** What is known about a shell command without running it. */
export interface ShellCommand {
  /** The commands if all are simple and every word is fixed; null if anything is compound or dynamic. */
  readonly plain: readonly (readonly string[])[] | null;
  /** Every command found at any depth, including behind wrappers and in scripts given as text. */
  readonly found: readonly Argv[];
  /** Commands that can start programs in ways that are not parsed here, such as `make` or `git`. */
  readonly unknown: readonly Argv[];
  /** Something would run that cannot be parsed here. */
  readonly opaque: boolean;
}

const MAX_DEPTH_LEVELS = 4;
const MAX_CHARS = 20_000;

export function readShellCommand(text: string): ShellCommand {
  if (text.length > MAX_CHARS) return { plain: null, found: [], unknown: [], opaque: true };
  const script = parse(text);
  const reader = new CommandReader();
  reader.read(script, 0);
  const { found, unknown, opaque } = reader;
  return { plain: plainCommands(text, script), found, unknown, opaque };
}

/** Collects every command of a script. */
class CommandReader {
  readonly found: Argv[] = [];
  readonly unknown: Argv[] = [];
  opaque = false;

  read(node: SyntaxNode, depth: number): void {
    if (node.type === 'Script' && ((node as ParsedScript).errors?.length ?? 0) > 0) this.opaque = true;
    if (node.type === 'Command') this.#command(node, depth);
    forEachChild(node, (child) => this.read(child, depth));
  }

  #command(command: Command, depth: number): void {
    if (command.name === undefined) return;
    const words = command.args.map((arg) => (arg.type === 'Word' ? readWord(arg) : arg.text));
    const argv = [readWord(command.name), ...words];
    // `PATH=/tmp ls` runs another ls.
    if (command.prefix.length > 0) this.unknown.push(argv);
    else this.#started(argv, depth);
    this.#argv(argv, depth);
    const name = readWord(command.name);
    if (name === null || !isShell(baseName(name))) return;
    for (const redirect of command.redirects) {
      if (redirect.type === 'HereDoc') this.#text(redirect.body.text, depth);
      else if (redirect.type === 'HereString')
        this.#text(redirect.target === undefined ? null : readWord(redirect.target), depth);
    }
  }

  #started(argv: Argv, depth: number): void {
    const [first] = argv;
    const name = first === undefined || first === null ? '' : baseName(first);
    // Their scripts are parsed as separate commands or make the whole command opaque.
    if (
      name === 'eval' ||
      (isShell(name) && argv.length > 1 && argv.slice(1, -1).every((word) => word?.startsWith('-')))
    )
      if (argv.some((word) => word !== null && (name === 'eval' || /^-[A-Za-z]*c/.test(word)))) return;
    const started = depth >= MAX_DEPTH_LEVELS ? 'unknown' : startedBy(argv);
    if (started === 'unknown') this.unknown.push(argv);
    else for (const inner of started) this.#started(inner, depth + 1);
  }

  #argv(argv: Argv, depth: number): void {
    const [first] = argv;
    this.found.push(argv);
    if (first === undefined || first === null) return;
    const name = baseName(first);
    if (WRAPPERS.has(name)) {
      for (let at = 1; at < argv.length; at++) if (argv[at] !== null) this.#inner(argv.slice(at), depth);
      if (argv.slice(1).includes(null)) this.found.push([null, ...argv.slice(1)]);
    }
    if (isShell(name) || name === 'eval' || WRAPPERS.has(name) || isInterpreter(name)) this.#inline(name, argv, depth);
  }

  /** A wrapper's argument may be the command it runs; which one is unknown without knowing all of its options. */
  #inner(argv: Argv, depth: number): void {
    if (depth >= MAX_DEPTH_LEVELS) this.opaque = true;
    else if (!argv[0]?.startsWith('-')) this.#argv(argv, depth + 1);
  }

  #inline(name: string, argv: Argv, depth: number): void {
    const inline = inlineScriptsOf(name, argv);
    if (inline === 'opaque') this.opaque = true;
    else for (const text of inline) this.#text(text, depth);
  }

  #text(text: string | null, depth: number): void {
    if (text === null || depth >= MAX_DEPTH_LEVELS) this.opaque = true;
    else this.read(parse(text), depth + 1);
  }
}

/** The word's text if it is fixed, or null. */
function readWord(word: Word): string | null {
  let dynamic = false;
  for (const part of word.parts ?? []) {
    if (part.type === 'Literal' || part.type === 'SingleQuoted' || part.type === 'AnsiCQuoted') continue;
    if (part.type === 'DoubleQuoted' || part.type === 'LocaleString')
      dynamic ||= part.parts.some((child) => child.type !== 'Literal');
    else dynamic = true;
  }
  return dynamic ? null : word.value;
}

/** Whether a command begins with the prefix, word by word. Used for allow rules, so it never guesses. */
export function beginsWith(argv: readonly string[], prefix: readonly string[]): boolean {
  return prefix.length > 0 && prefix.every((word, index) => argv[index] === word);
}

/**
 * Whether a command contains a denied prefix: options may stand between its words, short options may be combined, and
 * the program may be named with its folder. `maybe`: a deciding word cannot be determined.
 */
export function holds({ found, opaque }: ShellCommand, prefix: readonly string[]): 'yes' | 'maybe' | 'no' {
  let maybe = opaque;
  for (const argv of found) {
    const verdict = heldBy(argv, prefix);
    if (verdict === 'yes') return 'yes';
    maybe ||= verdict === 'maybe';
  }
  return maybe ? 'maybe' : 'no';
}

function heldBy(argv: Argv, [program, ...rest]: readonly string[]): 'yes' | 'maybe' | 'no' {
  const [first, ...words] = argv;
  if (program === undefined || first === undefined) return 'no';
  if (first !== null && first !== program && baseName(first) !== program) return 'no';
  const letters = shortOptions(words);
  let at = 0;
  let missing = false;
  for (const wanted of rest) {
    if (
      /^-[A-Za-z]+$/.test(wanted) &&
      wanted
        .slice(1)
        .split('')
        .every((letter) => letters.has(letter))
    )
      continue;
    const found = words.indexOf(wanted, at);
    if (found === -1) missing = true;
    else at = found + 1;
  }
  const unreadable = words.includes(null);
  if (missing && !unreadable) return 'no';
  return missing || first === null ? 'maybe' : 'yes';
}

function shortOptions(words: Argv): ReadonlySet<string> {
  const letters = new Set<string>();
  for (const word of words)
    if (word !== null && /^-[A-Za-z]+$/.test(word)) for (const letter of word.slice(1)) letters.add(letter);
  return letters;
}
