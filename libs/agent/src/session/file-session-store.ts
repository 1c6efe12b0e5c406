import { mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError, systemCode } from '../core/agent-error.ts';
import { parseJson } from '../core/json.ts';
import { appendLines, readHistory, replaceFile, syncFolder, writeFailed } from './session-files.ts';
import { acquireLease } from './session-lease.ts';
import {
  type AppendOptions,
  byAge,
  checkSessionId,
  matchesFilter,
  readSessionMetadata,
  type SessionEntry,
  type SessionFilter,
  type SessionLease,
  type SessionMetadata,
  type SessionStore,
  type StoredSession,
} from './session-store.ts';

export interface FileSessionStoreOptions {
  /** What survives a crash of the machine: every entry, writes that request it (default), or nothing. */
  readonly fsync?: 'entry' | 'turn' | 'never';
}

/** `<dir>/<session id>/{metadata.json,history.jsonl,lease.json}`, readable by the owner only. */
export class FileSessionStore implements SessionStore {
  readonly #dir: string;
  readonly #fsync: 'entry' | 'turn' | 'never';
  readonly #whole = new Set<string>();

  constructor(dir: string, options: FileSessionStoreOptions = {}) {
    this.#dir = dir;
    this.#fsync = options.fsync ?? 'turn';
  }

  async create(meta: SessionMetadata): Promise<void> {
    const folder = this.#folder(meta.session_id);
    try {
      await mkdir(this.#dir, { recursive: true, mode: 0o700 });
      await mkdir(folder, { mode: 0o700 });
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw writeFailed(error);
      // A crash between creating the folder and its first file leaves an unused folder.
      if (await exists(join(folder, 'metadata.json'))) throw new AgentError('conflict', 'the session exists already');
    }
    await this.saveMetadata(meta);
    if (this.#fsync !== 'never') await syncFolder(this.#dir);
  }

  async append(id: string, entries: readonly SessionEntry[], options: AppendOptions = {}): Promise<void> {
    if (entries.length === 0) return;
    const path = join(this.#folder(id), 'history.jsonl');
    await this.#cutTornLine(id, path);
    const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    const sync = this.#fsync === 'entry' || (this.#fsync === 'turn' && options.sync === true);
    const file = await open(path, 'a', 0o600).catch((error: unknown) => {
      throw systemCode(error) === 'ENOENT' ? notFound() : writeFailed(error);
    });
    try {
      await appendLines(file, text, sync);
    } finally {
      await file.close();
    }
  }

  async load(id: string): Promise<StoredSession> {
    const folder = this.#folder(id);
    const [metaText, history] = await Promise.all([
      readFile(join(folder, 'metadata.json'), 'utf8').catch(missing),
      readFile(join(folder, 'history.jsonl')).catch(missing),
    ]);
    if (metaText === null) throw notFound();
    const meta = readSessionMetadata(parseJson(metaText), `${id}/metadata.json`);
    const { entries, torn } = readHistory(history ?? Buffer.alloc(0), `${id}/history.jsonl`);
    return { meta, entries, torn };
  }

  async saveMetadata(meta: SessionMetadata): Promise<void> {
    const path = join(this.#folder(meta.session_id), 'metadata.json');
    await replaceFile(path, `${JSON.stringify(meta, null, 2)}\n`, this.#fsync !== 'never');
  }

  async list(filter?: SessionFilter): Promise<string[]> {
    const names = await readdir(this.#dir).catch(missing);
    const metas: SessionMetadata[] = [];
    for (const name of names ?? []) {
      const text = await readFile(join(this.#dir, name, 'metadata.json'), 'utf8').catch(missing);
      if (text !== null) metas.push(readSessionMetadata(parseJson(text), `${name}/metadata.json`));
    }
    return metas
      .filter((meta) => matchesFilter(meta, filter))
      .sort(byAge)
      .map((meta) => meta.session_id);
  }

  async delete(id: string): Promise<void> {
    this.#whole.delete(id);
    await rm(this.#folder(id), { recursive: true, force: true });
  }

  async acquire(id: string, owner: string): Promise<SessionLease> {
    const folder = this.#folder(id);
    if (!(await exists(join(folder, 'metadata.json')))) throw notFound();
    const lease = await acquireLease(join(folder, 'lease.json'), owner);
    this.#whole.delete(id);
    return lease;
  }

  /** Once per session and owner: the rest of a torn line must not become the beginning of the next one. */
  async #cutTornLine(id: string, path: string): Promise<void> {
    if (this.#whole.has(id)) return;
    const bytes = await readFile(path).catch(missing);
    if (bytes !== null) {
      const { torn, validBytes } = readHistory(bytes, `${id}/history.jsonl`);
      if (torn) {
        const file = await open(path, 'r+');
        try {
          await file.truncate(validBytes);
          await file.sync();
        } finally {
          await file.close();
        }
      }
    }
    this.#whole.add(id);
  }

  #folder(id: string): string {
    return join(this.#dir, checkSessionId(id));
  }
}

function missing(error: unknown): null {
  if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return null;
  throw error;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(missing)) !== null;
}

function notFound(): AgentError {
  return new AgentError('session_not_found', 'the session does not exist');
}
