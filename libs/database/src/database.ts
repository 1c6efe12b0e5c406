import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Tables } from './schema/tables.ts';

/** The service a connection works for: its Postgres role holds exactly the grants of that service. */
export type DatabaseRole = 'ingest' | 'run-tracking' | 'guardrail-evaluator' | 'action-dispatcher' | 'query';

export interface Database {
  /** Across tenants, within the role's grants; every statement carries its own tenant predicate. */
  readonly db: Kysely<Tables>;
  /** For the few hot statements that are worth a named prepared statement. */
  readonly pool: Pool;
  /**
   * One transaction as the tenant-bound read role: row level security shows this tenant and nobody else, whatever the
   * statement forgot.
   */
  asTenant<T>(tenantId: string, work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /** @throws when the server does not answer within the deadline. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
