import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { aptIsHere, type PackageOptions, unpackPackage } from './debian-packages.ts';

export interface Program {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Folders for servers that are often missing from a user's PATH. */
function searchFolders(): string[] {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...path, '/usr/sbin', '/usr/local/sbin', '/usr/local/bin'];
}

/** Folders with the Postgres server programs on Debian and Ubuntu, newest first. */
export function postgresFolders(): string[] {
  try {
    return readdirSync('/usr/lib/postgresql')
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join('/usr/lib/postgresql', version, 'bin'));
  } catch {
    return [];
  }
}

export function onPath(name: string, extraFolders: readonly string[] = []): string | undefined {
  return [...extraFolders, ...searchFolders()].map((folder) => join(folder, name)).find(executable);
}

/**
 * Finds a server program on PATH or in a Debian package unpacked into the cache.
 * @throws Error that says how to get it
 */
export async function findProgram(name: string, debianPackage: string, options?: PackageOptions): Promise<Program> {
  const local = onPath(name);
  if (local) return { command: local, env: process.env };
  if (!aptIsHere()) throw new Error(`${howToGet(name, debianPackage)}`);
  let unpacked: Awaited<ReturnType<typeof unpackPackage>>;
  try {
    unpacked = await unpackPackage(debianPackage, options);
  } catch (error) {
    throw new Error(
      `${howToGet(name, debianPackage)}\nFetching the Debian package failed: ${(error as Error).message}`,
      { cause: error },
    );
  }
  const command = ['usr/sbin', 'usr/bin'].map((folder) => join(unpacked.root, folder, name)).find(executable);
  if (!command)
    throw new Error(
      `the package ${debianPackage} unpacked in ${unpacked.root} has no program ${name}; remove that folder and try again`,
    );
  return { command, env: unpacked.env };
}

function howToGet(name: string, debianPackage: string): string {
  return [
    `${name} was not found, but the integration tests need the real server. Do one of the following:`,
    '  - start a Docker engine (the tests then use containers), or',
    `  - install it: apt-get install ${debianPackage}  |  brew install ${debianPackage}  |  see docs/running.md, or`,
    `  - put the program ${name} on PATH.`,
  ].join('\n');
}
