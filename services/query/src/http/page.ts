import { encodeCursor, type Position } from './cursor.ts';

export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
  readonly nextCursor?: string;
}

/** One page out of `limit + 1` rows: the extra row only says that there is more. */
export function pageOf<Row, T>(
  list: string,
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => Position,
  shape: (row: Row) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit;
  return {
    items: shown.map(shape),
    hasMore,
    ...(hasMore && last !== undefined ? { nextCursor: encodeCursor(list, positionOf(last)) } : {}),
  };
}
