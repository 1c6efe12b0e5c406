import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Cache for downloaded server packages: `AGENTLENS_TEST_CACHE`, otherwise the user's cache folder. */
export function cacheFolder(): string {
  const chosen = process.env.AGENTLENS_TEST_CACHE;
  if (chosen) return chosen;
  const base = process.env.XDG_CACHE_HOME ?? (homedir() ? join(homedir(), '.cache') : tmpdir());
  return join(base, 'agentlens');
}

const run = promisify(execFile);
const APT_DEADLINE_MS = 180_000;

/** A package unpacked outside the system: its programs and the environment in which they find their libraries. */
interface UnpackedPackage {
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
}

export function aptIsHere(): boolean {
  return existsSync('/usr/bin/apt-get') && existsSync('/usr/bin/dpkg-deb');
}

export interface PackageOptions {
  /**
   * A newer Debian release to take the package from, for a program that needs only the C library. Used only on an older
   * Debian; the machine's own release is the fallback.
   */
  readonly newerRelease?: { readonly codename: string; readonly version: number };
}

/**
 * Downloads a Debian package and missing dependencies and unpacks them into the cache folder. Installs nothing and
 * needs no root, because apt works with its own lists and archives.
 */
export async function unpackPackage(name: string, options: PackageOptions = {}): Promise<UnpackedPackage> {
  const newer = options.newerRelease;
  if (newer && (await debianOlderThan(newer.version))) {
    try {
      return await unpackFrom(name, newer.codename);
    } catch (error) {
      process.stderr.write(
        `agentlens: no ${name} from Debian ${newer.codename} (${(error as Error).message}); taking this release's\n`,
      );
    }
  }
  return unpackFrom(name);
}

async function unpackFrom(name: string, codename?: string): Promise<UnpackedPackage> {
  const root = join(cacheFolder(), 'debian', codename ? `${name}-${codename}` : name);
  if (!existsSync(root)) await download(name, root, codename);
  const libraries = [join(root, 'usr/lib'), ...(await libraryFolders(join(root, 'usr/lib')))];
  return { root, env: { ...process.env, LD_LIBRARY_PATH: libraries.join(':') } };
}

async function debianOlderThan(version: number): Promise<boolean> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const id = /^ID=(.*)$/m.exec(release)?.[1];
  const own = Number(/^VERSION_ID="?(\d+)/m.exec(release)?.[1]);
  return id === 'debian' && own < version;
}

/** Uses the machine's own mirror. */
async function mirror(): Promise<string> {
  const files = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return /https?:\/\/\S+\/debian\b\/?(?=\s)/.exec(texts.join('\n'))?.[0] ?? 'http://deb.debian.org/debian';
}

async function download(name: string, root: string, codename?: string): Promise<void> {
  // Keeps apt's state in a folder of this process, so that concurrent downloads need no lock.
  const work = `${root}.${process.pid}`;
  const archives = join(work, 'archives');
  await mkdir(join(archives, 'partial'), { recursive: true });
  await mkdir(join(work, 'lists', 'partial'), { recursive: true });
  const settings = [
    `Dir::State::lists=${join(work, 'lists')}`,
    `Dir::Cache=${work}`,
    `Dir::Cache::archives=${archives}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
    'Acquire::Retries=2',
  ];
  if (codename) {
    await writeFile(join(work, 'sources.list'), `deb ${await mirror()} ${codename} main\n`);
    settings.push(`Dir::Etc::sourcelist=${join(work, 'sources.list')}`, 'Dir::Etc::sourceparts=-');
  }
  const apt = (command: readonly string[], cwd = work) =>
    run('apt-get', [...settings.flatMap((setting) => ['-o', setting]), '-qq', ...command], {
      timeout: APT_DEADLINE_MS,
      cwd,
    });
  process.stderr.write(`agentlens: fetching the Debian package ${name} into ${root} (once; nothing is installed)\n`);
  try {
    await apt(['update']);
    // From another release, extract only the file itself; its dependencies would replace this machine's.
    if (codename) await apt(['download', name], archives);
    else await apt(['-y', '--no-install-recommends', '--download-only', 'install', name]);
    const unpacked = join(work, 'root');
    await mkdir(unpacked, { recursive: true });
    for (const file of await readdir(archives)) {
      if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(archives, file), unpacked], { timeout: 60_000 });
    }
    await mkdir(join(root, '..'), { recursive: true });
    await rename(unpacked, root).catch((error: NodeJS.ErrnoException) => {
      // Another test process has finished the same download.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function libraryFolders(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && entry.name.includes('-linux-'))
    .map((entry) => join(folder, entry.name));
}
