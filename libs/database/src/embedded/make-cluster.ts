import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { nameForServer } from './cluster-home.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import type { ServerUser } from './server-user.ts';

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
 * The cluster of this home, made at first use. `initdb` works in a folder of its own that is renamed when complete, so
 * that a start killed half-way leaves nothing that looks like a cluster.
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
    // Another starter may have been faster; then its cluster is ours too.
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
    // Exclusive, so that of two first starters one password wins.
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

/** @throws where the files are not the server's: Postgres would say no more than "Permission denied". */
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
