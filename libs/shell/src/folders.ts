import { posix } from 'node:path';
import type { Argv } from './programs.ts';
import { baseName } from './programs.ts';

/** The folder in which commands run, as far as the line says; null if it is not known. */
export interface Folders {
  current: string | null;
  previous: string | null;
  readonly stack: (string | null)[];
  /** Functions of the line that change the folder. */
  readonly movers: Set<string>;
}

export interface Places {
  /** Where the line starts; default: a relative path that stands for it. */
  readonly folder?: string;
  readonly home?: string;
}

export function startFolders({ folder = '.' }: Places): Folders {
  return { current: folder, previous: null, stack: [], movers: new Set() };
}

export function copyFolders({ current, previous, stack, movers }: Folders): Folders {
  return { current, previous, stack: [...stack], movers: new Set(movers) };
}

/** Follows `cd` and its relatives. @param texts the words as they stand in the line, for `$PWD` and `~` */
export function follow(folders: Folders, argv: Argv, texts: readonly string[], places: Places): void {
  const [program] = argv;
  if (program === null || program === undefined) return;
  if (folders.movers.has(program)) {
    move(folders, null);
    return;
  }
  const at = argv.findIndex((word, index) => index > 0 && !/^-[LPe@n]+$|^--$/.test(word ?? ''));
  const target = at === -1 ? undefined : texts[at];
  switch (baseName(program)) {
    case 'cd':
    case 'chdir':
      if (target === '-') move(folders, folders.previous);
      else move(folders, target === undefined ? (places.home ?? null) : resolveText(folders, target, places));
      return;
    case 'pushd':
      folders.stack.push(folders.current);
      move(folders, target === undefined ? null : resolveText(folders, target, places));
      return;
    case 'popd':
      move(folders, folders.stack.pop() ?? null);
      return;
    default:
  }
}

function move(folders: Folders, to: string | null): void {
  folders.previous = folders.current;
  folders.current = to;
}

/** A path of the line from the folder in which its command runs. @returns null if it depends on more than the line */
export function resolveText({ current }: Pick<Folders, 'current'>, text: string, { home }: Places): string | null {
  const fromHome = /^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/.exec(text)?.[0];
  if (fromHome !== undefined) return home === undefined ? null : posix.join(home, text.slice(fromHome.length));
  const fromHere = /^(?:\$PWD|\$\{PWD\})(?=\/|$)/.exec(text)?.[0];
  const path = fromHere === undefined ? text : `./${text.slice(fromHere.length)}`;
  if (/[$`]/.test(path) || path.startsWith('~')) return null;
  if (posix.isAbsolute(path)) return posix.normalize(path);
  return current === null ? null : posix.join(current, path);
}

/** After a part that may or may not have run: the folder is known only if both ways agree. */
export function mergeFolders(folders: Folders, other: Folders): void {
  if (folders.current !== other.current) folders.current = null;
  if (folders.previous !== other.previous) folders.previous = null;
  for (const name of other.movers) folders.movers.add(name);
}
