import stringWidth from 'string-width';
import type { Paint, Tone } from './style.ts';

/**
 * Escapes agent-controlled text for a terminal. Control characters could move the cursor, change the window title or
 * hide text, and bidirectional marks could reverse it; both are shown as `\u001b`.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    const shown = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
    return shown ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

export type Cell = string | number | boolean | null | undefined;

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => Cell;
  readonly tone?: (text: string, row: Row) => Tone | undefined;
  readonly align?: 'right';
}

export interface Layout {
  readonly paint: Paint;
  /** Width of the terminal; undefined: unlimited. */
  readonly width?: number;
}

const GAP = '  ';
const NARROWEST = 6;

/** Formats rows under column titles. On a terminal, the widest columns shrink until a row fits. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], { paint, width }: Layout): string {
  const texts = rows.map((row) => columns.map(({ value }) => cellText(value(row))));
  const widths = fitted(
    columns.map(({ title }, i) => Math.max(stringWidth(title), ...texts.map((cells) => stringWidth(cells[i] ?? '')))),
    width,
  );
  const line = (cells: readonly string[], painted: (text: string, i: number) => string) =>
    cells
      .map((cell, i) => {
        const room = widths[i] ?? 0;
        const text = shortened(cell, room);
        const space = ' '.repeat(Math.max(0, room - stringWidth(text)));
        const isLast = i === cells.length - 1;
        if (columns[i]?.align === 'right') return space + painted(text, i);
        return painted(text, i) + (isLast ? '' : space);
      })
      .join(GAP)
      .trimEnd();
  const titles = line(
    columns.map(({ title }) => title.toUpperCase()),
    (text) => paint('quiet', text),
  );
  const body = rows.map((row, r) =>
    line(texts[r] ?? [], (text, i) => paint(columns[i]?.tone?.(texts[r]?.[i] ?? '', row), text)),
  );
  return [titles, ...body].join('\n');
}

/** Formats `Label  value` lines, omitting members without a value. */
export function details(
  members: readonly (readonly [label: string, value: Cell, tone?: Tone])[],
  paint: Paint,
): string {
  const given = members.filter(([, value]) => value !== undefined && value !== null && value !== '');
  const room = Math.max(0, ...given.map(([label]) => stringWidth(label)));
  return given
    .map(([label, value, tone]) => `${paint('quiet', label.padEnd(room))}${GAP}${paint(tone, cellText(value))}`)
    .join('\n');
}

function cellText(cell: Cell): string {
  if (cell === undefined || cell === null) return '';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return plainText(String(cell));
}

/** Cuts text to `room` terminal columns; CJK characters and emoji take two. */
function shortened(text: string, room: number): string {
  if (stringWidth(text) <= room) return text;
  let cut = '';
  for (const { segment } of GRAPHEMES.segment(text)) {
    if (stringWidth(cut + segment) > room - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Shrinks the widest columns until all of them fit into `width`. */
function fitted(widths: readonly number[], width: number | undefined): number[] {
  const result = [...widths];
  if (width === undefined) return result;
  const room = width - GAP.length * (widths.length - 1);
  for (let excess = result.reduce((sum, one) => sum + one, 0) - room; excess > 0; excess--) {
    const widest = Math.max(...result);
    if (widest <= NARROWEST) break;
    result[result.indexOf(widest)] = widest - 1;
  }
  return result;
}

/** An instant without fractions: `2026-11-25T02:09:41Z`. */
export function instant(text: string | null | undefined): Cell {
  return text?.replace(/\.\d+Z$/, 'Z');
}

/** `$0.0012`, `$12.50`: two decimals, more for amounts below a cent. */
export function usd(amount: number | null | undefined): Cell {
  if (amount === undefined || amount === null) return undefined;
  const digits = amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2;
  return `$${amount.toFixed(digits)}`;
}

/** `320 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number | null | undefined): Cell {
  if (ms === undefined || ms === null) return undefined;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** `10:04:07Z`, in UTC like all printed instants. */
export function timeOfDay(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)}Z`;
}
