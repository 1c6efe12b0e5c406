import { type Compilable, type Kysely, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { READER_ROLE } from './roles.ts';
import type { Tables } from './schema/tables.ts';

/**
 * Runs one transaction as the tenant-bound read role. The transaction begins in the message that sets the tenant, so a
 * read takes three round trips. If the connection is lost, the rollback fails and the connection is not reused.
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

/** Several statements in one message cannot have parameters. */
function beginAs(tenantId: string): string {
  const [role, tenant] = [READER_ROLE, tenantId].map((value) => pg.escapeLiteral(value));
  return `begin; select set_config('role', ${role}, true), set_config('agentlens.tenant', ${tenant}, true)`;
}

/**
 * Takes a lock until the end of the transaction, across all replicas.
 *
 * @param purpose what must not run concurrently: `rules`, `alerts`
 * @param tenantId limits the lock to one tenant
 */
export async function lockUntilEnd(tx: Transaction<Tables>, purpose: string, tenantId?: string): Promise<void> {
  const name = ['agentlens', purpose, ...(tenantId === undefined ? [] : [tenantId])].join(':');
  await sql`select pg_advisory_xact_lock(hashtext(${name}))`.execute(tx);
}

/** Like `lockUntilEnd`, but excludes only those who take the whole lock. */
export async function shareLockUntilEnd(tx: Transaction<Tables>, purpose: string, tenantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(hashtext(${['agentlens', purpose, tenantId].join(':')}))`.execute(tx);
}

/**
 * Reads the rows of a query in groups of at most `size`; each group is requested after the previous one was consumed.
 * If `atMost` says that one group holds all rows, no cursor is used, which saves two round trips. Kysely's `stream()`
 * passes single rows through two generators, which costs 2 ms per thousand rows, so this uses its executor directly.
 */
export async function* rowGroups<Row>(
  db: Kysely<Tables>,
  query: Compilable<Row>,
  { size, atMost = Number.POSITIVE_INFINITY }: { readonly size: number; readonly atMost?: number },
): AsyncGenerator<readonly Row[]> {
  if (atMost <= size) {
    yield (await db.executeQuery(query)).rows;
    return;
  }
  for await (const { rows } of db.getExecutor().stream(query.compile(), size)) yield rows;
}
