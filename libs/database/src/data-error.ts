import { isMovedPartition } from './moved-partition.ts';

/**
 * Classes of SQLSTATE that blame the data: 22 data exception, 23 integrity violation, 54 limits of Postgres itself, which
 * one value passes (nested too deep, too long for an index) and no later attempt will not; want of room or memory, which
 * passes, is class 53.
 */
const DATA_CLASSES = /^(22|23|54)[0-9A-Z]{3}$/;

export interface DataError {
  readonly code: string;
  readonly message: string;
}

/** True where the database refuses this row and always will; false where it is the database that is unwell. */
export function isDataError(error: unknown): error is DataError {
  if (typeof error !== 'object' || error === null || isMovedPartition(error)) return false;
  return 'code' in error && typeof error.code === 'string' && DATA_CLASSES.test(error.code) && 'message' in error;
}
