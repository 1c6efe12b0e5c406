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
  | 'query';

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
