import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What builds are compared with until 0.2.0 is released: the engine was never faster. */
const FIRST_PINNED = 'e7d9f698603bcf81828b14907d210ce475158a63';
const FIRST_PINNED_VERSION = [0, 2, 0] as const;
/** The last commit of 0.1.0, which has no tag: what there is to upgrade from until 0.2.0 is released. */
const FIRST_INSTALLED = 'd96b74c193d176b23412358cfa4834dcfc740724';
const FETCH_DEADLINE_MS = 60_000;

/**
 * The commit that changes are compared with: the newest release. Not the previous commit, because losses of a few
 * percent each add up unnoticed.
 *
 * @throws an error that says how to get the commit, if it is not in this clone and cannot be fetched
 */
export async function findRelease(root: string): Promise<string> {
  return findTagged(root, FIRST_PINNED);
}

/** The commit that installations are upgraded from. @throws as `findRelease` */
export async function findInstalled(root: string): Promise<string> {
  return findTagged(root, FIRST_INSTALLED);
}

async function findTagged(root: string, first: string): Promise<string> {
  const { stdout } = await run('git', ['tag', '--list', 'v*', '--sort=-version:refname'], { cwd: root });
  const release = newestRelease(stdout.split('\n')) ?? first;
  if (await hasCommit(root, release)) return release;
  try {
    const fetched = ['fetch', '--quiet', '--depth=1', 'origin', release];
    await run('git', fetched, { cwd: root, timeout: FETCH_DEADLINE_MS });
  } catch (error) {
    throw new Error(
      `${release} is not in this clone and cannot be fetched: run "git fetch --unshallow", or name another commit with --against`,
      { cause: error },
    );
  }
  return release;
}

/** Of tags, newest first. */
export function newestRelease(tags: readonly string[]): string | undefined {
  return tags.find((tag) => {
    const version = /^v(\d+)\.(\d+)\.(\d+)$/.exec(tag)?.slice(1).map(Number);
    return version !== undefined && isAtLeast(version, FIRST_PINNED_VERSION);
  });
}

function isAtLeast(version: readonly number[], other: readonly number[]): boolean {
  const at = version.findIndex((part, index) => part !== other[index]);
  return at === -1 || (version[at] ?? 0) > (other[at] ?? 0);
}

async function hasCommit(root: string, ref: string): Promise<boolean> {
  return run('git', ['rev-parse', '--quiet', '--verify', `${ref}^{commit}`], { cwd: root }).then(
    () => true,
    () => false,
  );
}
