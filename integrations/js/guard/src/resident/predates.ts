import { statSync } from 'node:fs';
import { readInstalled } from '../install/installed.ts';
import type { GuardPaths } from '../state.ts';
import type { GuardedSession } from './session.ts';

/**
 * Whether a session began before its host came under the guard, by the age of its transcript. The first result of such
 * a session may belong to a call that ran before there was anybody to ask.
 */
export function predatesGuard({ host, transcript }: GuardedSession, paths: GuardPaths): boolean {
  const since = readInstalled(paths)[host]?.since;
  if (since === undefined || transcript === undefined) return false;
  try {
    return statSync(transcript).birthtimeMs < since;
  } catch (error) {
    // The host has not written anything, so the session is new.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
