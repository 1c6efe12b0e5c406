import { type Compilable, type Kysely, sql, type Transaction } from 'kysely';
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

/**
 * One transaction at a time, over all replicas: whoever asks for the same lock waits until this transaction ends.
 *
 * @param purpose what must not happen twice at once: `rules`, `alerts`
 * @param tenantId within one tenant only; without it for all
 */
export async function lockUntilEnd(tx: Transaction<Tables>, purpose: string, tenantId?: string): Promise<void> {
  const name = ['agentlens', purpose, ...(tenantId === undefined ? [] : [tenantId])].join(':');
  await sql`select pg_advisory_xact_lock(hashtext(${name}))`.execute(tx);
}

/**
 * The rows of a query, at most `size` at a time, each group asked for when the one before was taken; where `atMost` says that
 * one group holds them all, they come without a cursor and its two trips to the server. `stream()` of a query hands out single
 * rows, each by way of two generators, which costs a thousand of them 2 ms: hence the executor, which Kysely keeps for itself.
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
