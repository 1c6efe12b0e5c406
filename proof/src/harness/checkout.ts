import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, inherited } from './program.ts';

const run = promisify(execFile);
const SCOPE = '@agentlens';

export interface Checkout {
  readonly root: string;
  remove(): Promise<void>;
}

/** A built work tree of another commit, next to this one. */
export async function checkOut(root: string, ref: string, progress: (text: string) => void): Promise<Checkout> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlens-against-'));
  const tree = join(folder, 'tree');
  await run('git', ['worktree', 'add', '--detach', tree, ref], { cwd: root });
  const remove = async () => {
    await run('git', ['worktree', 'remove', '--force', tree], { cwd: root });
    await rm(folder, { recursive: true, force: true });
  };
  try {
    if (await sameDependencies(root, tree)) {
      progress(`${ref} has the same dependencies: sharing node_modules`);
      await shareDependencies(root, tree);
    } else {
      progress(`installing the dependencies of ${ref}`);
      await inherited('npm', ['ci', '--no-audit', '--no-fund'], tree);
    }
    progress(`building ${ref}`);
    await build(tree);
    return { root: tree, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Compares the lock files without the workspaces themselves, which are linked again. */
async function sameDependencies(root: string, tree: string): Promise<boolean> {
  const [ours, theirs] = await Promise.all([root, tree].map(lockedPackages));
  return ours === theirs;
}

async function lockedPackages(root: string): Promise<string> {
  const others = Object.entries(await lockOf(root)).filter(
    ([path]) => path.includes('node_modules/') && !path.startsWith(`node_modules/${SCOPE}/`),
  );
  return JSON.stringify(others);
}

async function lockOf(root: string): Promise<Record<string, unknown>> {
  const text = await readFile(join(root, 'package-lock.json'), 'utf8');
  return (JSON.parse(text) as { readonly packages: Record<string, unknown> }).packages;
}

/**
 * Links every package individually, so that the tree's own workspaces are used instead of those behind a linked folder.
 */
async function shareDependencies(root: string, tree: string): Promise<void> {
  const [from, to] = [join(root, 'node_modules'), join(tree, 'node_modules')];
  await mkdir(join(to, SCOPE), { recursive: true });
  for (const name of await readdir(from)) {
    if (name !== SCOPE) await symlink(join(from, name), join(to, name));
  }
  for (const name of await readdir(join(from, SCOPE))) {
    const link = join(from, SCOPE, name);
    if (!(await lstat(link)).isSymbolicLink()) {
      await symlink(link, join(to, SCOPE, name));
      continue;
    }
    const target = await readlink(link);
    if (existsSync(join(to, SCOPE, target))) await symlink(target, join(to, SCOPE, name));
  }
  // Some workspaces have packages in versions of their own.
  const nested = Object.keys(await lockOf(root)).flatMap(
    (path) => /^(?!node_modules\/)(.+?)\/node_modules\//.exec(path)?.[1] ?? [],
  );
  for (const workspace of new Set(nested)) {
    await symlink(join(root, workspace, 'node_modules'), join(tree, workspace, 'node_modules'));
  }
}
