import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import { READER_ROLE } from './roles.ts';
import type { Tables } from './schema/tables.ts';

/**
 * One transaction as the tenant-bound read role, begun in the message that says whose it is: a read is three round trips
 * and the first of them is the same for all. Only a lost connection cannot be rolled back, and such a one is not used again.
 */
export function asTenant<T>(
  db: Kysely<Tables>,
  tenantId: string,
  work: (transaction: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  return db.connection().execute(async (session) => {
    try {
      await sql.raw(beginAs(tenantId)).execute(session);
      const found = await work(session);
      await sql`commit`.execute(session);
      return found;
    } catch (error) {
      await sql`rollback`.execute(session);
      throw error;
    }
  });
}

/** Several statements in a message cannot have parameters. */
function beginAs(tenantId: string): string {
  const [role, tenant] = [READER_ROLE, tenantId].map((value) => pg.escapeLiteral(value));
  return `begin; select set_config('role', ${role}, true), set_config('agentlens.tenant', ${tenant}, true)`;
}
