import { sha256Hex } from '#sha256';
import { derivedId } from '../new-ids.ts';
import { timeOfId } from './agentlens/id-time.ts';

/**
 * The one id of a run's start, or of its end: both are told more than once, by a call, by an audit event and by an event
 * of the session. A start is dated with the time in the run's id where it has one.
 */
export function runMomentId(agentId: string, runId: string, kind: 'run.started' | 'run.ended'): string {
  return stableId(kind === 'run.started' ? timeOfId(runId) : undefined, agentId, runId, kind);
}

/** Equal for equal parts. Without a time the id must not look as if it had one. */
export function stableId(atMs: number | undefined, ...parts: readonly (string | number)[]): string {
  if (atMs !== undefined && atMs >= 0 && atMs <= LAST_ID_MS) return derivedId(atMs, ...parts);
  return `hb-${sha256Hex(JSON.stringify(parts)).slice(0, 32)}`;
}

/** 48 bits: what a UUIDv7 can hold. */
const LAST_ID_MS = 2 ** 48 - 1;
