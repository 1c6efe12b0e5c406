const CHECK_VIOLATION = '23514';

/**
 * True where a row was on its way to the default partition while the partition it belongs to was attached by somebody
 * else. Postgres calls it a check violation, but of no constraint that has a name. The row is not to blame: the next
 * attempt finds its partition.
 */
export function isMovedPartition(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { readonly code?: unknown; readonly constraint?: unknown };
  return code === CHECK_VIOLATION && constraint === undefined;
}

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

/** What an error of `pg` tells of the place: names of the schema. */
interface Refusal {
  readonly code: string;
  readonly table?: unknown;
  readonly column?: unknown;
  readonly constraint?: unknown;
}

/**
 * Why Postgres refused a row, for people who look for the fault later: the SQLSTATE and, where Postgres names one, the
 * constraint or column. Never its message or detail: they quote what the row holds.
 */
export function refusalText({ code, table, column, constraint }: Refusal): string {
  const state = `SQLSTATE ${code}`;
  const of = typeof table === 'string' ? ` of ${table}` : '';
  if (typeof constraint === 'string') return `${state} (constraint ${constraint}${of})`;
  return typeof column === 'string' ? `${state} (column ${column}${of})` : state;
}
