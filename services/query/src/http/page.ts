import { Readable } from 'node:stream';
import type { Tables } from '@agentlens/database';
import { encodeCursor, MAX_COUNTED_ROWS, type Position, type Total } from '@agentlens/operations';
import { StreamableFile } from '@nestjs/common';
import { type SelectQueryBuilder, sql } from 'kysely';
import type { ReadOnly } from './tenant-reads.ts';

/** Paging information that follows the items. */
export interface PageEnd {
  readonly hasMore: boolean;
  readonly nextCursor?: string;
}

export interface Page<T> extends PageEnd {
  readonly items: readonly T[];
}

/** Makes a page from `limit + 1` rows. The extra row only shows that more rows exist. */
export function pageOf<Row, T>(
  list: string,
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => Position,
  shape: (row: Row) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  return { items: shown.map(shape), ...endOfPage(list, rows.length > limit, shown.at(-1), positionOf) };
}

/** Paging information after `last`, the last row of the page. */
export function endOfPage<Row>(
  list: string,
  hasMore: boolean,
  last: Row | undefined,
  positionOf: (row: Row) => Position,
): PageEnd {
  if (!hasMore || last === undefined) return { hasMore };
  return { hasMore, nextCursor: encodeCursor(list, positionOf(last)) };
}

/** A page whose items are already JSON. */
export interface WrittenPage extends PageEnd {
  /** The contents of the JSON array, without its brackets. */
  readonly items: readonly Buffer[];
}

/**
 * Makes a page from `limit + 1` rows; the extra row only shows that more rows exist. Serializes rows as they are read,
 * so that a long page is never in memory as rows or objects all at once.
 */
export async function writePage<Row>(
  list: string,
  groups: AsyncIterable<readonly Row[]>,
  limit: number,
  positionOf: (row: Row) => Position,
  shape: (row: Row) => object,
): Promise<WrittenPage> {
  const items: Buffer[] = [];
  let read = 0;
  let last: Row | undefined;
  for await (const rows of groups) {
    const shown = rows.slice(0, limit - read);
    read += rows.length;
    if (shown.length === 0) continue;
    const text = JSON.stringify(shown.map(shape)).slice(1, -1);
    items.push(Buffer.from(items.length > 0 ? `,${text}` : text));
    last = shown.at(-1);
  }
  return { items, ...endOfPage(list, read > limit, last, positionOf) };
}

/** Returns the response `{ [name]: items, ...rest }`. `rest` has at least one member. */
export function answerOf(name: string, items: readonly Buffer[], rest: object): StreamableFile {
  const pieces = [
    Buffer.from(`{${JSON.stringify(name)}:[`),
    ...items,
    Buffer.from(`],${JSON.stringify(rest).slice(1)}`),
  ];
  return new StreamableFile(Readable.from(pieces, { objectMode: false }), {
    type: 'application/json; charset=utf-8',
    length: pieces.reduce((sum, { length }) => sum + length, 0),
  });
}

export async function totalOf<T extends keyof Tables>(
  db: ReadOnly,
  matching: SelectQueryBuilder<Tables, T, object>,
): Promise<Total> {
  const counted = matching.select(sql`1`.as('one')).limit(MAX_COUNTED_ROWS + 1);
  const { rows } = await sql<{ total: number }>`select count(*) as total from (${counted}) as counted`.execute(db);
  const total = rows[0]?.total ?? 0;
  return { total: Math.min(total, MAX_COUNTED_ROWS), totalRelation: total > MAX_COUNTED_ROWS ? 'gte' : 'eq' };
}
