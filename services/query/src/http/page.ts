import { encodeCursor, type Position } from '@agentlens/operations';

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
