import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { HostContract, HostId } from '../hosts/host.ts';
import { type GuardPaths, GuardStateError, makePrivateFolder, readJson, writeWhole } from '../state.ts';
import type { HostFile } from './host-files.ts';
import { JsonTextError } from './json-text.ts';

/** What the guard knows of a file that it changed. */
export interface InstalledFile {
  readonly path: string;
  /** The file's bytes before, in base64; null if it did not exist. */
  readonly before: string | null;
  readonly mode: number | null;
  /** SHA-256 of the bytes that the guard wrote. */
  readonly written: string;
  /** Folders that the guard made, innermost first. */
  readonly folders: readonly string[];
}

export interface InstalledHost {
  readonly files: readonly InstalledFile[];
  readonly version?: string;
  /** When the host came under the guard, epoch ms. */
  readonly since: number;
}

export type Installed = Readonly<Partial<Record<HostId, InstalledHost>>>;

export function readInstalled(paths: GuardPaths): Installed {
  return (readJson(paths.installed) ?? {}) as Installed;
}

export function writeInstalled(paths: GuardPaths, installed: Installed): void {
  makePrivateFolder(paths.folder);
  writeWhole(paths.installed, `${JSON.stringify(installed, null, 2)}\n`, 0o600);
}

/**
 * Adds the guard to the files of a host. A file that the guard changed before is taken back first, so that a second
 * installation keeps the bytes of the user and not its own. Nothing is written if one of the files cannot be read.
 * @throws GuardStateError
 */
export function addToFiles(files: readonly HostFile[], earlier: readonly InstalledFile[]): InstalledFile[] {
  const planned = files.map((file) =>
    plan(
      file,
      earlier.find(({ path }) => path === file.path),
    ),
  );
  return planned.map(({ file, before, mode, content }) => {
    const folders = makeFolders(dirname(file.path));
    const kept = earlier.find(({ path }) => path === file.path)?.folders ?? [];
    writeThrough(file.path, content, mode ?? 0o600);
    return {
      path: file.path,
      before: before?.toString('base64') ?? null,
      mode,
      written: hashOf(content),
      folders: folders.length === 0 ? kept : folders,
    };
  });
}

interface PlannedFile {
  readonly file: HostFile;
  readonly before: Buffer | null;
  readonly mode: number | null;
  readonly content: Buffer;
}

function plan(file: HostFile, earlier: InstalledFile | undefined): PlannedFile {
  const now = readBytes(file.path);
  let before = now;
  if (now !== null && earlier !== undefined) {
    before = hashOf(now) === earlier.written ? bytesBefore(earlier) : Buffer.from(removed(file, now));
    if (before?.length === 0) before = null;
  }
  const text = before?.toString('utf8') ?? '';
  if (before !== null && !Buffer.from(text, 'utf8').equals(before))
    throw new GuardStateError(`${file.path} is not UTF-8; nothing was changed`);
  try {
    return { file, before, mode: modeOf(file.path), content: Buffer.from(file.add(text), 'utf8') };
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new GuardStateError(`${file.path}, ${error.message}; nothing was changed`);
  }
}

function removed(file: HostFile, now: Buffer): string {
  try {
    return file.remove(now.toString('utf8'));
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new GuardStateError(`${file.path}, ${error.message}; remove the entries of the guard by hand`);
  }
}

export type Restored = 'restored' | 'entries removed' | 'removed' | 'gone';

/** Takes one file back: the bytes before, or only the guard's entries if the file changed since. */
export function restoreFile(file: InstalledFile, host: HostFile | undefined): Restored {
  const now = readBytes(file.path);
  let result: Restored = 'gone';
  if (now !== null) {
    const isUnchanged = hashOf(now) === file.written;
    const before = bytesBefore(file);
    if (isUnchanged && before !== null) {
      writeThrough(file.path, before, file.mode ?? 0o600);
      result = 'restored';
    } else if (isUnchanged) {
      rmSync(file.path);
      result = 'removed';
    } else {
      const rest = host === undefined ? now.toString('utf8') : removed(host, now);
      const isEmpty = rest.trim() === '' || rest.trim() === '{}';
      if (isEmpty && before === null) rmSync(file.path);
      else
        writeThrough(
          file.path,
          Buffer.from(isEmpty && rest === '' ? '{}\n' : rest),
          file.mode ?? modeOf(file.path) ?? 0o600,
        );
      result = isEmpty && before === null ? 'removed' : 'entries removed';
    }
  }
  return result;
}

/** Removes the folders that the guard made and that are empty now. Call it when all files are restored. */
export function removeFolders(files: readonly InstalledFile[]): void {
  for (const folder of files.flatMap(({ folders }) => folders)) removeIfEmpty(folder);
}

/** Whether a file still has the bytes that the guard wrote. */
export function isUnchanged(file: InstalledFile): boolean {
  const now = readBytes(file.path);
  return now !== null && hashOf(now) === file.written;
}

function bytesBefore({ before }: InstalledFile): Buffer | null {
  return before === null ? null : Buffer.from(before, 'base64');
}

/** Replaces the file that a link leads to, with the mode it had. */
function writeThrough(path: string, content: Buffer, mode: number): void {
  const target = existsSync(path) ? realpathSync(path) : path;
  writeWhole(target, content, mode);
  chmodSync(target, mode);
}

/** @returns null if the file does not exist @throws GuardStateError if it cannot be read */
export function readBytes(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new GuardStateError(`${path} cannot be read: ${message}`);
  }
}

export function modeOf(path: string): number | null {
  try {
    return statSync(path).mode & 0o777;
  } catch {
    // The file does not exist yet.
    return null;
  }
}

function makeFolders(folder: string): string[] {
  const missing: string[] = [];
  for (let at = folder; !existsSync(at); at = dirname(at)) missing.push(at);
  mkdirSync(folder, { recursive: true });
  return missing;
}

function removeIfEmpty(folder: string): void {
  try {
    if (readdirSync(folder).length === 0) rmdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

export function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

const VERSION_MS = 20_000;

/** What the binary prints as its version; undefined if it cannot be run. */
export function versionOf({ binary }: HostContract, path: string | undefined): string | undefined {
  try {
    const output = execFileSync(binary, ['--version'], {
      encoding: 'utf8',
      timeout: VERSION_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: path === undefined ? process.env : { ...process.env, PATH: path },
      shell: process.platform === 'win32',
    });
    return /\d+\.\d+\.\d+(?:-[\w.]+)?/.exec(output)?.[0];
  } catch {
    // The host is not installed, or does not start.
    return undefined;
  }
}
