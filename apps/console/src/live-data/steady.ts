import { useMemo, useRef, useState } from 'react';

interface Steady<T> {
  /** What to show, in an order that does not change under the reader. */
  readonly rows: readonly T[];
  /** How many newer ones wait. */
  readonly waiting: number;
  readonly showNew: () => void;
}

/**
 * The rows of a list while they are read: known ones change in place, new ones wait until they are asked for, unless nobody
 * is reading (`following`). A change of `filterKey` begins anew.
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
