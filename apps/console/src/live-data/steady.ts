import { useMemo, useRef, useState } from 'react';

interface Steady<T> {
  /** Rows in an order that does not change while they are read. */
  readonly rows: readonly T[];
  /** Number of newer rows that are hidden. */
  readonly waiting: number;
  readonly showNew: () => void;
}

/**
 * Keeps the rows of a list in place: known rows update, new rows are held back until `showNew`, unless the list follows.
 * A new `filterKey` starts over.
 */
export function useSteady<T>(
  rows: readonly T[],
  idOf: (row: T) => string,
  filterKey: string,
  following: boolean,
): Steady<T> {
  const held = useRef<{ key: string; ids: Set<string> }>({ key: '', ids: new Set() });
  const [, redraw] = useState(0);
  if (held.current.key !== filterKey || held.current.ids.size === 0 || following) {
    held.current = { key: filterKey, ids: new Set(rows.map(idOf)) };
  }
  const { ids } = held.current;
  return useMemo(() => {
    const firstKnown = rows.findIndex((row) => ids.has(idOf(row)));
    const isNew = (row: T, index: number) => !ids.has(idOf(row)) && index < Math.max(0, firstKnown);
    return {
      rows: rows.filter((row, index) => !isNew(row, index)),
      waiting: rows.filter(isNew).length,
      showNew: () => {
        held.current = { key: filterKey, ids: new Set(rows.map(idOf)) };
        redraw((count) => count + 1);
      },
    };
  }, [rows, ids, idOf, filterKey]);
}
