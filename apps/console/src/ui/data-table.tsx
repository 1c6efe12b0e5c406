import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { useKeys } from '../shell/keys.ts';
import { Icon } from './icon.tsx';

export interface Column<T> {
  readonly id: string;
  readonly head: ReactNode;
  /** Grid track size: `96px`, `minmax(0, 2fr)`. */
  readonly width: string;
  readonly right?: boolean;
  /** Name of this order at the server. Makes the head a button. */
  readonly sort?: string;
  readonly cell: (row: T) => ReactNode;
}

export interface Sorting {
  readonly by: string;
  readonly order: 'asc' | 'desc';
  /** Sorts by a column, or reverses its order. */
  readonly onSort: (by: string, order: 'asc' | 'desc') => void;
}

interface DataTableProps<T> {
  readonly sorting?: Sorting;
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly idOf: (row: T) => string;
  readonly onOpen: (row: T) => void;
  readonly rowHeight?: number;
  /** The row as a card, for narrow screens. */
  readonly narrow?: (row: T) => ReactNode;
  readonly current?: string | undefined;
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (id: string) => void;
  /** Called when the end is visible. */
  readonly onEnd?: () => void;
  /** Whether the list is at its top and not in use. */
  readonly onFollowing?: (following: boolean) => void;
}

const OVERSCAN = 8;
const NARROW_PX = 76;
const small = matchMedia('(max-width: 640px)');

/** Virtual list of server-sorted rows of equal height. The focus stays with a row's id. */
export function DataTable<T>(props: DataTableProps<T>) {
  const { label, rows, columns, idOf, onOpen, rowHeight = 28, current, selected, onSelect, onEnd, onFollowing } = props;
  const isSmall = useSmall();
  const narrow = isSmall ? props.narrow : undefined;
  const box = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState<string>();
  const rowSize = useRowHeight(box, narrow === undefined ? rowHeight : NARROW_PX);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowSize,
    overscan: OVERSCAN,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - OVERSCAN) onEnd?.();
  }, [last, rows.length, onEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new height must be measured
  useEffect(() => virtual.measure(), [rowSize, virtual]);

  const move = (by: number) => {
    const at = rows.findIndex((row) => idOf(row) === focused);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (next === undefined) return;
    setFocused(idOf(next));
    virtual.scrollToIndex(rows.indexOf(next));
    requestAnimationFrame(() =>
      box.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(idOf(next))}"]`)?.focus(),
    );
  };
  useKeys({ j: () => move(1), k: () => move(-1), x: () => focused !== undefined && onSelect?.(focused) });

  const onKeyDown = (event: KeyboardEvent, row: T) => {
    if (event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowUp') move(-1);
    else if (event.key === 'Enter' && event.target === event.currentTarget) onOpen(row);
    else return;
    event.preventDefault();
  };
  const follow = () =>
    onFollowing?.((box.current?.scrollTop ?? 0) < 4 && !box.current?.matches(':hover, :focus-within'));
  const style = { '--cols': columns.map(({ width }) => width).join(' ') } as CSSProperties;
  return (
    <div
      ref={box}
      className={narrow === undefined ? 'vt' : 'vt cards'}
      style={style}
      onScroll={follow}
      onPointerEnter={follow}
      onPointerLeave={follow}
      onFocus={follow}
      onBlur={follow}
    >
      <div role="grid" aria-label={label} aria-rowcount={rows.length}>
        <div role="row" className="vh-row">
          {columns.map((column) => (
            <Head key={column.id} column={column} sorting={props.sorting} />
          ))}
        </div>
        <div className="vt-body" role="rowgroup" style={{ height: `${virtual.getTotalSize()}px` }}>
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            const id = idOf(row);
            const state = `${selected?.has(id) ? 'sel' : ''} ${current === id ? 'cur' : ''}`;
            return (
              <div
                key={id}
                role="row"
                data-row={id}
                aria-rowindex={item.index + 1}
                aria-selected={selected?.has(id) ?? false}
                tabIndex={focused === id || (focused === undefined && item.index === 0) ? 0 : -1}
                className={`vr ${state}`}
                style={{ transform: `translateY(${item.start}px)`, height: `${rowSize}px` }}
                onFocus={() => setFocused(id)}
                onKeyDown={(event) => onKeyDown(event, row)}
                onClick={(event) =>
                  !(event.target instanceof Element && event.target.closest('a, button, input')) && onOpen(row)
                }
              >
                {narrow !== undefined ? (
                  <span role="gridcell" className="vcard">
                    {narrow(row)}
                  </span>
                ) : (
                  columns.map((column) => (
                    <span key={column.id} role="gridcell" className={column.right ? 'r' : ''}>
                      {column.cell(row)}
                    </span>
                  ))
                )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Head<T>({ column, sorting }: { column: Column<T>; sorting: Sorting | undefined }) {
  const { head, right, sort } = column;
  if (sort === undefined || sorting === undefined) {
    return (
      <span role="columnheader" className={right ? 'r' : ''}>
        {head}
      </span>
    );
  }
  const isSorted = sorting.by === sort;
  const direction = isSorted ? (sorting.order === 'asc' ? 'ascending' : 'descending') : undefined;
  return (
    <span role="columnheader" className={right ? 'r' : ''} aria-sort={direction}>
      <button
        type="button"
        className={`sort ${isSorted ? 'on' : ''}`}
        onClick={() => sorting.onSort(sort, isSorted && sorting.order === 'desc' ? 'asc' : 'desc')}
      >
        {head}
        <Icon name={isSorted && sorting.order === 'asc' ? 'up' : 'dn'} size={12} />
      </button>
    </span>
  );
}

function useSmall(): boolean {
  return useSyncExternalStore(
    (listener) => {
      small.addEventListener('change', listener);
      return () => small.removeEventListener('change', listener);
    },
    () => small.matches,
  );
}

/** Row height for the density and the input device. */
function useRowHeight(box: RefObject<HTMLElement | null>, least: number): number {
  const [height, setHeight] = useState(least);
  useEffect(() => {
    if (box.current === null) return;
    const wanted = Number.parseInt(getComputedStyle(box.current).getPropertyValue('--row'), 10);
    setHeight(Math.max(least, Number.isNaN(wanted) ? least : wanted));
  }, [box, least]);
  return height;
}
