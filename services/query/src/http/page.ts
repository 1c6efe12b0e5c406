import { encodeCursor, type Position } from '@agentlens/operations';

/** What follows the items of a page. */
export interface PageEnd {
  readonly hasMore: boolean;
  readonly nextCursor?: string;
}

export interface Page<T> extends PageEnd {
  readonly items: readonly T[];
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
  return { items: shown.map(shape), ...endOfPage(list, rows.length > limit, shown.at(-1), positionOf) };
}

/** After `last`, the last row shown. */
export function endOfPage<Row>(
  list: string,
  hasMore: boolean,
  last: Row | undefined,
  positionOf: (row: Row) => Position,
): PageEnd {
  if (!hasMore || last === undefined) return { hasMore };
  return { hasMore, nextCursor: encodeCursor(list, positionOf(last)) };
}
