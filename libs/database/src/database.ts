import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Tables } from './schema/tables.ts';

/** Service that a connection works for. Its Postgres role has exactly that service's grants. */
export type DatabaseRole =
  | 'ingest'
  | 'run-tracking'
  | 'guardrail-evaluator'
  | 'action-dispatcher'
  | 'backtester'
  | 'query'
  | 'model-gateway';

export interface Database {
  /** Queries across tenants, within the role's grants. Every statement must filter by tenant itself. */
  readonly db: Kysely<Tables>;
  /** For the few hot statements that need a named prepared statement. */
  readonly pool: Pool;
  /**
   * Runs one transaction as the tenant-bound read role. Row level security shows only this tenant, even if a statement
   * has no filter.
   */
  asTenant<T>(tenantId: string, work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /** @throws if the server does not answer within the timeout */
  ping(): Promise<void>;
  close(): Promise<void>;
}

const CHECK_VIOLATION = '23514';

/**
 * Whether a row was inserted into the default partition while the partition it belongs to was being attached. Postgres
 * reports a check violation without a constraint name. The row is valid; a retry finds the partition.
 */
export function isMovedPartition(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { readonly code?: unknown; readonly constraint?: unknown };
  return code === CHECK_VIOLATION && constraint === undefined;
}

/**
 * SQLSTATE classes caused by the data: 22 data exception, 23 integrity violation, 54 limits of Postgres itself, such as
 * nesting depth or index entry size, which a retry cannot fix. Lack of disk or memory is class 53.
 */
const DATA_CLASSES = /^(22|23|54)[0-9A-Z]{3}$/;

export interface DataError {
  readonly code: string;
  readonly message: string;
}

/** Whether the database rejects this row permanently; false if the database itself has a problem. */
export function isDataError(error: unknown): error is DataError {
  if (typeof error !== 'object' || error === null || isMovedPartition(error)) return false;
  return 'code' in error && typeof error.code === 'string' && DATA_CLASSES.test(error.code) && 'message' in error;
}

/** The parts of a `pg` error that name schema objects. */
interface Refusal {
  readonly code: string;
  readonly table?: unknown;
  readonly column?: unknown;
  readonly constraint?: unknown;
}

/**
 * Describes why Postgres rejected a row: the SQLSTATE and, if known, the constraint or column. Omits message and
 * detail, which quote the row's values.
 */
export function refusalText({ code, table, column, constraint }: Refusal): string {
  const state = `SQLSTATE ${code}`;
  const of = typeof table === 'string' ? ` of ${table}` : '';
  if (typeof constraint === 'string') return `${state} (constraint ${constraint}${of})`;
  return typeof column === 'string' ? `${state} (column ${column}${of})` : state;
}
