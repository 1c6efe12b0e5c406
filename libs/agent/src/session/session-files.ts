import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AgentError, systemCode } from '../core/agent-error.ts';
import { isPlainObject, parseJson } from '../core/json.ts';
import { SCHEMA_VERSION, type SessionEntry } from './session-store.ts';

const NEWLINE = 0x0a;

export interface ReadHistory {
  readonly entries: readonly SessionEntry[];
  readonly torn: boolean;
  /** The file is intact up to here. */
  readonly validBytes: number;
}

/**
 * Reads lines of entries. A truncated last line is the result of a crash; any other unreadable line is damage.
 *
 * @throws AgentError `session_corrupt` with the byte offset, `schema_too_new`
 */
export function readHistory(bytes: Buffer, where: string): ReadHistory {
  const entries: SessionEntry[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(NEWLINE, at);
    const last = end === -1 || end === bytes.length - 1;
    const entry = end === -1 ? null : readEntry(bytes.toString('utf8', at, end));
    if (entry === null) {
      if (last) return { entries, torn: true, validBytes: at };
      throw corrupt(where, at, 'a line is not a valid entry');
    }
    if (entry.v > SCHEMA_VERSION) throw new AgentError('schema_too_new', `${where} was written by a newer version`);
    if (entry.seq !== entries.length + 1) throw corrupt(where, at, `entry ${entries.length + 1} is missing`);
    entries.push(entry);
    at = end + 1;
  }
  return { entries, torn: false, validBytes: at };
}

function readEntry(line: string): SessionEntry | null {
  const value = parseJson(line);
  if (!isPlainObject(value)) return null;
  if (typeof value.v !== 'number' || typeof value.seq !== 'number' || typeof value.type !== 'string') return null;
  // Only this package writes these files; `v` identifies lines of other versions.
  return value as unknown as SessionEntry;
}

function corrupt(where: string, offset: number, why: string): AgentError {
  return new AgentError('session_corrupt', `${where} is damaged at byte ${offset}: ${why}`, { info: { offset } });
}

/** Replaces a file atomically: after a crash it has the old or the new text. */
export async function replaceFile(path: string, text: string, sync: boolean): Promise<void> {
  const next = `${path}.${process.pid}`;
  try {
    const file = await open(next, 'w', 0o600);
    try {
      await file.writeFile(text);
      if (sync) await file.sync();
    } finally {
      await file.close();
    }
    await rename(next, path);
    if (sync) await syncFolder(dirname(path));
  } catch (error) {
    await rm(next, { force: true });
    throw writeFailed(error);
  }
}

/** Makes the names in a folder survive a crash of the machine. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Appends lines; a partial write is truncated again. */
export async function appendLines(file: FileHandle, text: string, sync: boolean): Promise<void> {
  const { size } = await file.stat();
  try {
    await file.appendFile(text);
    if (sync) await file.datasync();
  } catch (error) {
    await file.truncate(size).catch(() => {
      // The disk rejects everything; the torn line is removed when the session is opened again.
    });
    throw writeFailed(error);
  }
}

export function writeFailed(error: unknown): AgentError {
  const code = systemCode(error) ?? 'unknown';
  const why = code === 'ENOSPC' ? 'the disk is full' : `the file system answered ${code}`;
  return new AgentError('session_write_failed', `the session could not be written: ${why}`, { cause: error });
}
