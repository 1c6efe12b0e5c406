import { sha256Hex } from '#sha256';
import { derivedId } from '../new-ids.ts';
import { timeOfId } from './agentlens/id-time.ts';

/**
 * Returns the id of a run's start or end, which a protocol call, an audit event and a session event all share. The id
 * of a start contains the time in the run's id, if it has one.
 */
export function runMomentId(agentId: string, runId: string, kind: 'run.started' | 'run.ended'): string {
  return stableId(kind === 'run.started' ? timeOfId(runId) : undefined, agentId, runId, kind);
}

/** Returns the same id for the same parts. Without a time, the id must not look time-ordered. */
export function stableId(atMs: number | undefined, ...parts: readonly (string | number)[]): string {
  if (atMs !== undefined && atMs >= 0 && atMs <= LAST_ID_MS) return derivedId(atMs, ...parts);
  return `hb-${sha256Hex(JSON.stringify(parts)).slice(0, 32)}`;
}

/** 48 bits, the range of a UUIDv7. */
const LAST_ID_MS = 2 ** 48 - 1;
