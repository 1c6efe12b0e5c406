import { sql } from 'kysely';
import type { Position } from '../http/cursor.ts';
import type { JsonOf } from '../http/json-of.ts';
import type { ReadOnly } from '../http/tenant-reads.ts';
import type { StoredEvent } from './stored-event.ts';
import { writtenEvents } from './written-event.ts';

interface PageQuery {
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: Position | undefined;
}

/** One page of the events that match, oldest first, and one event more. */
export function eventPageRows(
  db: ReadOnly,
  matching: ReturnType<typeof sql<boolean>>,
  query: PageQuery,
): Promise<JsonOf<StoredEvent>[]> {
  let rows = db.selectFrom('events').selectAll().where(matching);
  if (query.cursor !== undefined) {
    rows = rows.where(sql<boolean>`(occurred_at, event_id) > (${query.cursor.at}::timestamptz, ${query.cursor.id})`);
  }
  return writtenEvents(db, rows.limit(query.limit + 1).offset(query.offset), 'asc');
}
