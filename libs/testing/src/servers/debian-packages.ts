import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from './cache-folder.ts';

const run = promisify(execFile);
const APT_DEADLINE_MS = 180_000;

/** A package unpacked beside the system: its programs, and the environment they need to find their libraries. */
export interface UnpackedPackage {
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
}

export function aptIsHere(): boolean {
  return existsSync('/usr/bin/apt-get') && existsSync('/usr/bin/dpkg-deb');
}

/**
 * Downloads a Debian package with whatever of its dependencies the machine lacks and unpacks them into the cache
 * folder: nothing is installed, and no root is needed, because apt works on lists and archives of its own.
 */
export async function unpackPackage(name: string): Promise<UnpackedPackage> {
  const root = join(cacheFolder(), 'debian', name);
  if (!existsSync(root)) await download(name, root);
  const libraries = [join(root, 'usr/lib'), ...(await libraryFolders(join(root, 'usr/lib')))];
  return { root, env: { ...process.env, LD_LIBRARY_PATH: libraries.join(':') } };
}

async function download(name: string, root: string): Promise<void> {
  // Everything of apt's in a folder of this process: several may fetch at once without a lock.
  const work = `${root}.${process.pid}`;
  const archives = join(work, 'archives');
  await mkdir(join(archives, 'partial'), { recursive: true });
  await mkdir(join(work, 'lists', 'partial'), { recursive: true });
  const options = [
    `Dir::State::lists=${join(work, 'lists')}`,
    `Dir::Cache=${work}`,
    `Dir::Cache::archives=${archives}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
    'Acquire::Retries=2',
  ].flatMap((option) => ['-o', option]);
  process.stderr.write(`agentlens: fetching the Debian package ${name} into ${root} (once; nothing is installed)\n`);
  try {
    await run('apt-get', [...options, '-qq', 'update'], { timeout: APT_DEADLINE_MS });
    await run('apt-get', [...options, '-qq', '-y', '--no-install-recommends', '--download-only', 'install', name], {
      timeout: APT_DEADLINE_MS,
    });
    const unpacked = join(work, 'root');
    await mkdir(unpacked, { recursive: true });
    for (const file of await readdir(archives)) {
      if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(archives, file), unpacked], { timeout: 60_000 });
    }
    await mkdir(join(root, '..'), { recursive: true });
    await rename(unpacked, root).catch((error: NodeJS.ErrnoException) => {
      // Another test process finished the same download first.
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
