import { isDataError, isMovedPartition, refusalText } from '@agentlens/database';
import { UnreadableChunk } from './chunk-tallies.ts';

/**
 * What to do about an error of the database: `data` is the fault of one row and will be the same for ever; `again` is a
 * conflict between writers that is over by now; `away` means that nothing can be stored at the moment.
 */
type DatabaseFault = 'data' | 'again' | 'away';

/** Serialization failure, deadlock. */
const CONFLICTS = ['40001', '40P01'];

export function databaseFault(error: unknown): DatabaseFault {
  // Not a database error, but of the same kind: nested too deep, or a number too big, to be written down at all.
  if (error instanceof RangeError || error instanceof UnreadableChunk) return 'data';
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return 'away';
  if (CONFLICTS.includes(code) || isMovedPartition(error)) return 'again';
  return isDataError(error) ? 'data' : 'away';
}

/** For a dead letter: names the thing, the kind of error and where it lies, never the contents. */
export function faultText(what: 'event' | 'decision', id: string, error: unknown): string {
  const fault = isRefusal(error) ? refusalText(error) : 'nested too deep or a number too big';
  return `${what} ${id.slice(0, 256).toWellFormed()} cannot be stored: ${fault}`;
}

function isRefusal(error: unknown): error is { readonly code: string } {
  return typeof (error as { code?: unknown } | null)?.code === 'string';
}
