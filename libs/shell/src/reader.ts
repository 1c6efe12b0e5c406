import {
  type Command,
  type CommandNode,
  forEachChild,
  parse,
  type Redirection,
  type SyntaxNode,
  type Word,
} from 'unbash';
import { evaluatesText } from './evaluation.ts';
import { copyFolders, type Folders, follow, mergeFolders, type Places, resolveText, startFolders } from './folders.ts';
import { plainCommands } from './plain-commands.ts';
import type { Argv } from './programs.ts';
import { innerCommands, inlineScripts, type ScriptSource } from './unwrap.ts';
import { hasSubstitution, isWhole, readWord } from './words.ts';

/** What a command reads from its standard input: nothing that the line names, a pipe, a file, or a text of the line. */
export type CommandInput = 'none' | 'pipe' | 'file' | { readonly text: string | null };

/** One command that the line runs, at any depth. */
export interface ShellCommand {
  readonly argv: Argv;
  /** The words with what is unknown as it stands in the line: `$OUT/a`. */
  readonly texts: readonly string[];
  /** Assignments before the command, as they stand in the line. */
  readonly assignments: readonly string[];
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly input: CommandInput;
  /** The folder in which it runs; null if the line does not say. */
  readonly folder: string | null;
  /** Holds the output of another command. */
  readonly substitutes: boolean;
  /** Where its own program comes from, for shells and interpreters. */
  readonly script: ScriptSource;
  /** Runs on another machine or in a container. */
  readonly remote: boolean;
  /** Where it stands: in the line itself, in a script given as text, or among the words of a wrapper. */
  readonly place: 'line' | 'script' | 'words';
}

export interface ShellScript {
  /** The commands if all are simple and every word is fixed; null if anything is compound or dynamic. */
  readonly plain: readonly (readonly string[])[] | null;
  readonly commands: readonly ShellCommand[];
  /** Something would run that cannot be followed here. */
  readonly opaque: boolean;
}

export interface ReadOptions extends Places {
  /**
   * Which words of a wrapper count as its command: the one that the program table names, or every one, for a caller
   * that must miss none.
   */
  readonly wrapped?: 'named' | 'every';
}

const MAX_DEPTH_LEVELS = 4;
const MAX_CHARS = 20_000;
const MAX_COMMANDS = 2_000;

/** Reads a shell line without running it. Nothing is expanded. */
export function readShell(line: string, options: ReadOptions = {}): ShellScript {
  if (line.length > MAX_CHARS) return { plain: null, commands: [], opaque: true };
  const script = parse(line);
  const reader = new Reader(options);
  reader.script(line, startFolders(options), { depth: 0, input: 'none', remote: false, place: 'line' });
  return { plain: plainCommands(line, script), commands: reader.commands, opaque: reader.opaque };
}

interface Surroundings {
  readonly depth: number;
  readonly input: CommandInput;
  readonly remote: boolean;
  readonly place: 'line' | 'script';
}

class Reader {
  readonly commands: ShellCommand[] = [];
  opaque = false;
  readonly #options: ReadOptions;

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  script(text: string, folders: Folders, around: Surroundings): void {
    if (around.depth > MAX_DEPTH_LEVELS) {
      this.opaque = true;
      return;
    }
    const script = parse(text);
    if (!isWhole(script) || evaluatesText(script)) this.opaque = true;
    for (const statement of script.commands) this.#walk(statement, folders, around);
  }

  #walk(node: SyntaxNode, folders: Folders, around: Surroundings): void {
    switch (node.type) {
      case 'Script':
        // The text of a substitution: it runs in a shell of its own.
        if (!isWhole(node)) this.opaque = true;
        for (const statement of node.commands) this.#walk(statement, folders, around);
        return;
      case 'CompoundList':
        for (const statement of node.commands) this.#walk(statement, folders, around);
        return;
      case 'Statement':
        this.#walk(node.command, node.background === true ? copyFolders(folders) : folders, around);
        return;
      case 'AndOr':
        for (const [at, part] of node.commands.entries())
          if (at > 0 && node.operators[at - 1] === '||') this.#maybe(part, folders, around);
          else this.#walk(part, folders, around);
        return;
      case 'Pipeline':
        this.#pipeline(node.commands, folders, around);
        return;
      case 'Subshell':
        this.#walk(node.body, copyFolders(folders), around);
        return;
      case 'BraceGroup':
        this.#walk(node.body, folders, around);
        return;
      case 'If':
        this.#walk(node.clause, folders, around);
        this.#maybe(node.then, folders, around);
        for (const branch of node.elif) this.#maybe(branch, folders, around);
        if (node.else !== undefined) this.#maybe(node.else, folders, around);
        return;
      case 'While':
        this.#walk(node.clause, folders, around);
        this.#maybe(node.body, folders, around);
        return;
      case 'For':
      case 'Select':
      case 'ArithmeticFor':
      case 'Case':
      case 'CaseItem':
      case 'Elif':
        forEachChild(node, (child) => this.#maybe(child, folders, around));
        return;
      case 'Function': {
        const inside = copyFolders(folders);
        this.#walk(node.body, inside, around);
        if (inside.current !== folders.current) folders.movers.add(node.name.value);
        return;
      }
      case 'Coproc':
        this.#walk(node.body, copyFolders(folders), around);
        return;
      case 'Redirected': {
        this.#substitutions(node.redirects, folders, around);
        const { reads, writes, input } = readRedirects(node.redirects, around.input);
        if (reads.length + writes.length > 0) this.#add({ ...emptyCommand(folders, around), reads, writes });
        this.#walk(node.command, folders, { ...around, input });
        return;
      }
      case 'Command':
        this.#command(node, folders, around);
        return;
      default:
        // Tests, arithmetic and words: only their substitutions run.
        this.#substitutions([node], folders, around);
    }
  }

  /** A part that may not run. */
  #maybe(node: SyntaxNode, folders: Folders, around: Surroundings): void {
    const inside = copyFolders(folders);
    this.#walk(node, inside, around);
    mergeFolders(folders, inside);
  }

  #pipeline(parts: readonly CommandNode[], folders: Folders, around: Surroundings): void {
    if (parts.length === 1) {
      for (const part of parts) this.#walk(part, folders, around);
      return;
    }
    for (const [at, part] of parts.entries())
      this.#walk(part, copyFolders(folders), at === 0 ? around : { ...around, input: 'pipe' });
  }

  /** Commands whose output becomes a part of words. They run in shells of their own. */
  #substitutions(nodes: readonly SyntaxNode[], folders: Folders, around: Surroundings): void {
    for (const node of nodes) {
      if (node.type === 'Script') this.#walk(node, copyFolders(folders), around);
      else if (node.type === 'Statement' || node.type === 'CompoundList') this.#walk(node, folders, around);
      else forEachChild(node, (child) => this.#substitutions([child], folders, around));
    }
  }

  #command(node: Command, folders: Folders, around: Surroundings): void {
    this.#substitutions(
      [...node.prefix, ...(node.name === undefined ? [] : [node.name]), ...node.suffix],
      folders,
      around,
    );
    const { reads, writes, input } = readRedirects(node.redirects, around.input);
    const assignments = node.prefix.flatMap((part) => (part.type === 'Assignment' ? [part.text] : []));
    const words = node.name === undefined ? [] : [node.name, ...node.args];
    const argv = words.map((word) => (word.type === 'Word' ? readWord(word) : word.text));
    const texts = words.map((word) => (word.type === 'Word' ? word.value : word.text));
    const substitutes = words.some((word) => word.type === 'Word' && hasSubstitution(word));
    const given = { ...emptyCommand(folders, around), argv, texts, assignments, reads, writes, input, substitutes };
    if (argv.length === 0) {
      if (assignments.length + reads.length + writes.length > 0) this.#add(given);
      return;
    }
    this.#run(given, folders, around.depth);
  }

  /** Adds a command, what it starts, and what its scripts run; then goes where it goes. */
  #run(given: ShellCommand, folders: Folders, depth: number): void {
    if (this.commands.length >= MAX_COMMANDS) {
      this.opaque = true;
      return;
    }
    const { argv, texts } = given;
    const { scripts, source } = inlineScripts(argv, given.input);
    const command = { ...given, script: source };
    this.#add(command);
    const inside = { depth: depth + 1, input: given.input, remote: given.remote, place: 'script' } as const;
    for (const { text, remote } of scripts)
      if (text === null) this.opaque = true;
      else
        this.script(text, runsHere(argv) ? folders : copyFolders(folders), {
          ...inside,
          remote: given.remote || remote,
        });
    const every = this.#options.wrapped === 'every';
    const inner = innerCommands(argv, { every });
    if (depth >= MAX_DEPTH_LEVELS) {
      if (inner.length > 0) this.opaque = true;
    } else
      for (const { from, length, remote, folder } of inner) {
        const at = copyFolders(folders);
        if (folder !== undefined) at.current = folder === null ? null : resolveText(at, folder, this.#options);
        const part = {
          ...{ ...command, place: 'words' as const, remote: command.remote || remote, folder: at.current },
          argv: argv.slice(from, from + length),
          texts: texts.slice(from, from + length),
          reads: [],
          writes: [],
        };
        const staysHere = argv[0] === 'command' || argv[0] === 'builtin';
        this.#run(part, staysHere ? folders : at, depth + 1);
      }
    follow(folders, argv, texts, this.#options);
  }

  #add(command: ShellCommand): void {
    if (this.commands.length >= MAX_COMMANDS) this.opaque = true;
    else this.commands.push(command);
  }
}

/** The shell itself runs these scripts, so they may change its folder. */
function runsHere([program]: Argv): boolean {
  return program === 'eval';
}

function emptyCommand(folders: Folders, { remote, place, input }: Surroundings): ShellCommand {
  return {
    ...{ argv: [], texts: [], assignments: [], reads: [], writes: [], substitutes: false, script: 'none' },
    ...{ folder: folders.current, input, remote, place },
  };
}

function readRedirects(redirects: readonly Redirection[], around: CommandInput) {
  const reads: string[] = [];
  const writes: string[] = [];
  let input = around;
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') input = { text: hereText(redirect) };
    else if (redirect.type === 'HereString') input = { text: fixedText(redirect.target) };
    else if (redirect.target !== undefined && !/^\d+$|^-$/.test(redirect.target.value)) {
      if (redirect.operator.includes('>')) writes.push(redirect.target.value);
      if (redirect.operator === '<' || redirect.operator === '<>') {
        reads.push(redirect.target.value);
        input = 'file';
      }
    }
  }
  return { reads, writes, input };
}

function hereText({ operator, body }: Extract<Redirection, { type: 'HereDoc' }>): string {
  // Its substitutions are read as commands of their own.
  return operator === '<<-' ? body.text.replace(/^\t+/gm, '') : body.text;
}

function fixedText(target: Word | undefined): string | null {
  return target === undefined ? null : readWord(target);
}
