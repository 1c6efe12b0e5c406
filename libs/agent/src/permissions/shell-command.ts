import {
  baseName,
  isInterpreter,
  isShell,
  isWrapper,
  readShell,
  type ShellCommand as ReadCommand,
  startedBy,
} from '@agentlens/shell';

/** A word that is unknown before the shell runs it is null. Declared here, because the package ships these types. */
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

export function readShellCommand(text: string): ShellCommand {
  // A deny rule must miss no command, so each word of a wrapper may begin one.
  const { plain, commands, opaque } = readShell(text, { wrapped: 'every' });
  const named = commands.filter(({ argv }) => argv.length > 0);
  return {
    plain,
    found: named.flatMap(({ argv }) => foundIn(argv)),
    unknown: named.filter(({ place }) => place !== 'words').flatMap((command) => unknownIn(command)),
    opaque: opaque || named.some(runsUnreadText),
  };
}

/** A wrapper with an unknown word may run any program. */
function foundIn(argv: Argv): Argv[] {
  const [program, ...words] = argv;
  const isOpen = typeof program === 'string' && isWrapper(baseName(program)) && words.includes(null);
  return isOpen ? [argv, [null, ...words]] : [argv];
}

function runsUnreadText({ argv, script }: ReadCommand): boolean {
  const [program] = argv;
  if (program === null || program === undefined) return false;
  const name = baseName(program);
  return (isShell(name) || isInterpreter(name)) && (script === 'code' || script === 'input');
}

function unknownIn({ argv, assignments }: ReadCommand): Argv[] {
  // `PATH=/tmp ls` runs another ls.
  return assignments.length > 0 ? [argv] : unknownStarts(argv, 0);
}

function unknownStarts(argv: Argv, depth: number): Argv[] {
  if (isReadScript(argv)) return [];
  const started = depth >= MAX_DEPTH_LEVELS ? 'unknown' : startedBy(argv);
  return started === 'unknown' ? [argv] : started.flatMap((inner) => unknownStarts(inner, depth + 1));
}

/** A shell whose script is a text of the line: its commands are read by themselves, or make the whole opaque. */
function isReadScript(argv: Argv): boolean {
  const [program] = argv;
  if (program === null || program === undefined) return false;
  const name = baseName(program);
  if (name === 'eval') return argv.length > 1;
  const onlyOptions = isShell(name) && argv.length > 1 && argv.slice(1, -1).every((word) => word?.startsWith('-'));
  return onlyOptions && argv.some((word) => word !== null && /^-[A-Za-z]*c/.test(word));
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
