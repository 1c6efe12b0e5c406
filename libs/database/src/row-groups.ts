import type { Compilable, Kysely } from 'kysely';
import type { Tables } from './schema/tables.ts';

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
