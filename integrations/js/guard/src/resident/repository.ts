import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

export interface Repository {
  /** Name of the project's folder. */
  readonly project: string;
  readonly branch?: string;
}

/** The repository of a folder, read from its files: no command runs. */
export function repositoryOf(folder: string): Repository {
  for (let at = folder; ; at = dirname(at)) {
    const git = gitFolder(at);
    if (git !== undefined) return { project: basename(at), branch: branchOf(git) };
    if (dirname(at) === at) return { project: basename(folder) };
  }
}

/** A worktree and a submodule have a file that names the folder. */
function gitFolder(folder: string): string | undefined {
  const path = join(folder, '.git');
  try {
    if (statSync(path).isDirectory()) return path;
    const named = /^gitdir: (.+)$/m.exec(readFileSync(path, 'utf8'))?.[1];
    return named === undefined ? undefined : resolve(folder, named);
  } catch {
    // This folder is not the root of a repository.
    return undefined;
  }
}

function branchOf(git: string): string | undefined {
  try {
    return /^ref: refs\/heads\/(.+)$/m.exec(readFileSync(join(git, 'HEAD'), 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
