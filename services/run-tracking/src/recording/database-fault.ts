import { isDataError, isMovedPartition, refusalText } from '@agentlens/database';
import { UnreadableChunk } from './chunk-tallies.ts';

/**
 * How to handle a database error. `data`: a row is invalid, retrying does not help. `again`: a conflict between
 * writers, retry at once. `away`: nothing can be stored at the moment.
 */
type DatabaseFault = 'data' | 'again' | 'away';

/** Serialization failure, deadlock. */
const CONFLICTS = ['40001', '40P01'];

export function databaseFault(error: unknown): DatabaseFault {
  // Raised before the database: nested too deeply, or a number too big to encode.
  if (error instanceof RangeError || error instanceof UnreadableChunk) return 'data';
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return 'away';
  if (CONFLICTS.includes(code) || isMovedPartition(error)) return 'again';
  return isDataError(error) ? 'data' : 'away';
}

/** Text for a dead letter: the id, the kind of error and its place, never the contents. */
export function faultText(what: 'event' | 'decision', id: string, error: unknown): string {
  const fault = isRefusal(error) ? refusalText(error) : 'nested too deep or a number too big';
  return `${what} ${id.slice(0, 256).toWellFormed()} cannot be stored: ${fault}`;
}

function isRefusal(error: unknown): error is { readonly code: string } {
  return typeof (error as { code?: unknown } | null)?.code === 'string';
}
