import { createHash, randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { glob } from 'tinyglobby';
import { AgentError, systemCode } from '../core/agent-error.ts';
import { matchesGlob } from '../permissions/paths.ts';
import type { HostFiles, ReadFile } from './host.ts';

export interface FileSandboxOptions {
  readonly root: string;
  readonly writable: boolean;
  /** Protected files that may be used, as globs relative to the root. */
  readonly unprotect?: readonly string[];
}

const MAX_BYTES = 10 * 1024 * 1024;
const MAX_FILES = 1_000;
/** These files hold keys or determine what other programs run. */
const PROTECTED = [
  ...['**/.git', '**/.git/**', '**/.env', '**/.env.*', '**/*.pem', '**/*.key', '**/*.p12', '**/*.pfx'],
  ...['**/id_rsa*', '**/id_ed25519*', '**/id_ecdsa*', '**/.ssh/**', '**/.aws/**', '**/.npmrc', '**/.netrc'],
];

/**
 * Files under one folder. Links are resolved first and judged by their target; the last name is opened without
 * following links. It keeps an agent inside the folder, but does not protect against other programs that change it
 * concurrently.
 */
export class FileSandbox implements HostFiles {
  readonly #root: string;
  readonly #writable: boolean;
  readonly #unprotect: readonly string[];
  #realRoot: string | undefined;

  constructor({ root, writable, unprotect = [] }: FileSandboxOptions) {
    this.#root = resolve(root);
    this.#writable = writable;
    this.#unprotect = unprotect;
  }

  async resolve(path: string): Promise<string> {
    return relative(await this.#rootPath(), await this.#inside(path))
      .split(sep)
      .join('/');
  }

  async read(path: string): Promise<ReadFile> {
    const real = await this.#inside(path);
    const file = await this.#open(real, constants.O_RDONLY, path);
    try {
      const info = await file.stat();
      if (!info.isFile()) throw failed(`${path} is not a file`);
      if (info.size > MAX_BYTES) throw failed(`${path} is larger than ${MAX_BYTES} bytes`);
      const bytes = await file.readFile();
      if (bytes.subarray(0, 8_000).includes(0)) throw failed(`${path} is not a text file`);
      return { text: bytes.toString('utf8'), hash: sha256(bytes), bytes: bytes.length };
    } finally {
      await file.close();
    }
  }

  async write(
    path: string,
    text: string,
    { ifHash }: { readonly ifHash?: string | null } = {},
  ): Promise<{ readonly hash: string }> {
    if (!this.#writable) throw denied('files are read-only');
    const real = await this.#inside(path);
    const current = await this.#currentHash(real, path);
    if (ifHash !== undefined && current !== ifHash)
      throw new AgentError('conflict', `${path} has changed since it was read: read it again`);
    const bytes = Buffer.from(text);
    if (bytes.length > MAX_BYTES) throw failed(`the text is larger than ${MAX_BYTES} bytes`);
    await mkdir(dirname(real), { recursive: true });
    const next = join(dirname(real), `.${basename(real)}.${randomUUID()}`);
    try {
      const before: Stats | null = current === null ? null : await lstat(real);
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      const file = await open(next, flags, (before?.mode ?? 0o644) & 0o777);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(next, real);
    } finally {
      await rm(next, { force: true });
    }
    return { hash: sha256(bytes) };
  }

  async list(
    pattern: string,
    { folder = '.', limit = MAX_FILES }: { readonly folder?: string; readonly limit?: number } = {},
  ): Promise<readonly string[]> {
    if (isAbsolute(pattern) || pattern.split('/').includes('..')) throw denied('a pattern must stay inside the folder');
    const root = await this.#rootPath();
    const cwd = await this.#inside(folder);
    const found = await glob(pattern, {
      cwd,
      ...{ followSymbolicLinks: false, onlyFiles: true, dot: false, expandDirectories: false },
      ignore: ['**/node_modules/**', '**/.git/**'],
    });
    const inside = await this.#foldersInside(found.map((file) => dirname(join(cwd, file))));
    return found
      .filter((file) => inside.has(dirname(join(cwd, file))))
      .map((file) => relative(root, join(cwd, file)).split(sep).join('/'))
      .filter((file) => !this.#isProtected(file))
      .sort()
      .slice(0, limit);
  }

  /** Folders that lead inside the root: a pattern may name a link. */
  async #foldersInside(folders: readonly string[]): Promise<ReadonlySet<string>> {
    const root = await this.#rootPath();
    const inside = new Set<string>();
    for (const folder of new Set(folders)) {
      const real = await realpath(folder).catch(missing);
      if (real !== null && (real === root || real.startsWith(root + sep))) inside.add(folder);
    }
    return inside;
  }

  async #currentHash(real: string, path: string): Promise<string | null> {
    const info = await lstat(real).catch(missing);
    if (info === null) return null;
    if (!info.isFile()) throw failed(`${path} is not a file`);
    const file = await this.#open(real, constants.O_RDONLY, path);
    try {
      return sha256(await file.readFile());
    } finally {
      await file.close();
    }
  }

  async #open(real: string, flags: number, path: string): Promise<FileHandle> {
    try {
      return await open(real, flags | constants.O_NOFOLLOW);
    } catch (error) {
      if (systemCode(error) === 'ENOENT') throw failed(`${path} does not exist`);
      throw failed(`${path} cannot be opened (${systemCode(error)})`);
    }
  }

  /** The real path, if it is inside and not protected. A path that does not exist yet is judged by its folder. */
  async #inside(path: string): Promise<string> {
    if (path.includes('\0')) throw denied('a path must not contain a zero byte');
    const root = await this.#rootPath();
    const asked = isAbsolute(path) ? resolve(path) : resolve(root, path);
    const real = await realPathOf(asked);
    // An absolute path may reach the root through a link.
    if (real !== root && !real.startsWith(root + sep)) throw denied(`${path} is outside the agent's folder`);
    const inside = relative(root, real).split(sep).join('/');
    if (this.#isProtected(inside)) throw denied(`${path} is protected`);
    return real;
  }

  #isProtected(path: string): boolean {
    if (!PROTECTED.some((pattern) => matchesGlob(path.toLowerCase(), pattern))) return false;
    return !this.#unprotect.some((pattern) => matchesGlob(path, pattern));
  }

  async #rootPath(): Promise<string> {
    this.#realRoot ??= await realpath(this.#root);
    return this.#realRoot;
  }
}

async function realPathOf(path: string): Promise<string> {
  const real = await realpath(path).catch(missing);
  if (real !== null) return real;
  // A write would go through a dangling link.
  if ((await lstat(path).catch(missing)) !== null) throw denied('the path is a dangling link');
  const parent = dirname(path);
  if (parent === path) return path;
  return join(await realPathOf(parent), basename(path));
}

function missing(error: unknown): null {
  if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return null;
  throw error;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function denied(message: string): AgentError {
  return new AgentError('denied_by_host', message);
}

function failed(message: string): AgentError {
  return new AgentError('tool_failed', message);
}
