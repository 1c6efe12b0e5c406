import { rowGroups, type Tables } from '@agentlens/database';
import type { Position } from '@agentlens/operations';
import { type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import { type WrittenPage, writePage } from '../http/page.ts';
import type { ReadOnly } from '../http/tenant-reads.ts';
import { eventFromRow } from './stored-event.ts';

/**
 * 100 events of usual size make a string that V8 keeps in the young generation. Longer strings are freed only by a full
 * garbage collection.
 */
const ROWS_AT_ONCE = 100;

interface PageQuery {
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: Position | undefined;
}

type Matching = SelectQueryBuilder<Tables, 'events', object>;

/** Returns one page of matching events, each as `view` shows it. `list` is the name that its cursors carry. */
export function eventPage(
  db: ReadOnly,
  list: string,
  matching: Matching,
  query: PageQuery,
  order: 'asc' | 'desc' = 'asc',
  view: (row: Selectable<Tables['events']>) => object = eventFromRow,
): Promise<WrittenPage> {
  const rows = starting(matching.selectAll(), query.cursor, order)
    .orderBy('occurred_at', order)
    .orderBy('event_id', order)
    .limit(query.limit + 1)
    .offset(query.offset);
  const groups = rowGroups(db, rows, { size: ROWS_AT_ONCE, atMost: query.limit + 1 });
  return writePage(list, groups, query.limit, positionOf, view);
}

function starting(
  rows: SelectQueryBuilder<Tables, 'events', Selectable<Tables['events']>>,
  cursor: Position | undefined,
  order: 'asc' | 'desc',
) {
  if (cursor === undefined) return rows;
  const place = sql`(${cursor.at}::timestamptz, ${cursor.id})`;
  return rows.where(
    order === 'asc'
      ? sql<boolean>`(occurred_at, event_id) > ${place}`
      : sql<boolean>`(occurred_at, event_id) < ${place}`,
  );
}

function positionOf(row: { readonly occurred_at: string; readonly event_id: string }): Position {
  return { at: row.occurred_at, id: row.event_id };
}
