import { readFileSync } from 'node:fs';
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { AgentError, systemCode } from '../core/agent-error.ts';
import { isPlainObject, parseJson } from '../core/json.ts';
import type { SessionLease } from './session-store.ts';

/**
 * One owner per session, by a file that only one process can create. The file of a dead process is taken over. On
 * another machine this cannot be checked, so its file counts as alive until it is removed.
 */
export async function acquireLease(path: string, owner: string): Promise<SessionLease> {
  const text = JSON.stringify({ pid: process.pid, startedAt: startOf(process.pid), host: hostname(), owner });
  for (let attempt = 0; attempt < 5; attempt++) {
    if (await createOnce(path, text)) return { release: () => release(path, text) };
    const seen = await readFile(path, 'utf8').catch(() => null);
    if (seen === null) continue;
    if (isAlive(seen)) throw busy();
    await removeDead(path, seen);
  }
  throw busy();
}

async function createOnce(path: string, text: string): Promise<boolean> {
  // Linked with its content, so that a lease is never read half-written.
  const own = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  const file = await open(own, 'wx', 0o600);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(own, { force: true });
  }
}

/** Moves the dead file away first, and puts it back if it belongs to a new owner. */
async function removeDead(path: string, seen: string): Promise<void> {
  const aside = `${path}.dead.${process.pid}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const moved = await readFile(aside, 'utf8');
  if (moved !== seen) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

async function release(path: string, text: string): Promise<void> {
  const seen = await readFile(path, 'utf8').catch(() => null);
  if (seen === text) await rm(path, { force: true });
}

function isAlive(text: string): boolean {
  const lease = parseJson(text);
  if (!isPlainObject(lease) || typeof lease.pid !== 'number') return false;
  if (lease.host !== hostname()) return true;
  try {
    process.kill(lease.pid, 0);
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
  const startedAt = startOf(lease.pid);
  // Process ids are reused; the start time distinguishes two processes if the system reports it.
  return startedAt === null || lease.startedAt === null || startedAt === lease.startedAt;
}

/** When a process started, in ticks since boot; null if the system does not report it. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

function busy(): AgentError {
  return new AgentError('session_busy', 'the session is in use by another process');
}
