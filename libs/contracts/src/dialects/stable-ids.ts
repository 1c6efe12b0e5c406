import { sha256Hex } from '#sha256';
import { derivedId } from '../new-ids.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_TIME_CHARS = 10;

/** Returns the time of a time-ordered id (UUIDv7 or ULID) in ms, or undefined for any other id. */
export function timeOfId(id: string): number | undefined {
  if (UUID_V7.test(id)) return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  if (!ULID.test(id)) return undefined;
  let time = 0;
  for (const char of id.slice(0, ULID_TIME_CHARS).toUpperCase()) time = time * 32 + CROCKFORD.indexOf(char);
  return time;
}

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
