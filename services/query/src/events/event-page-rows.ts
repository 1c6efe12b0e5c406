import { sql } from 'kysely';
import type { Position } from '../http/cursor.ts';
import type { ReadOnly } from '../http/tenant-reads.ts';

interface PageQuery {
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: Position | undefined;
}

/** One page of the events that match, oldest first, and one row more. */
export function eventPageRows(db: ReadOnly, matching: ReturnType<typeof sql<boolean>>, query: PageQuery) {
  let rows = db.selectFrom('events').selectAll().where(matching);
  if (query.cursor !== undefined) {
    rows = rows.where(sql<boolean>`(occurred_at, event_id) > (${query.cursor.at}::timestamptz, ${query.cursor.id})`);
  }
  return rows
    .orderBy('occurred_at', 'asc')
    .orderBy('event_id', 'asc')
    .limit(query.limit + 1)
    .offset(query.offset)
    .execute();
}
