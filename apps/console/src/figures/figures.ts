import { visibleName } from '../../../../libs/contracts/src/visible.ts';

/** Number formats of the console. */

const group = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** `$4.82`; two significant digits below a cent. */
export function money(usd: number): string {
  if (usd === 0) return '$0.00';
  if (Math.abs(usd) < 0.01) return `$${significant(usd)}`;
  return `$${usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** For a column whose head names the unit. */
export function moneyCell(usd: number): string {
  if (usd === 0) return '0';
  if (Math.abs(usd) >= 10) return usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return Math.abs(usd) >= 0.001 ? usd.toFixed(3) : significant(usd);
}

function significant(value: number): string {
  return String(Number(value.toPrecision(2)));
}

export function count(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toFixed(1)} B`;
  return value >= 10_000_000 ? `${(value / 1e6).toFixed(1)} M` : group.format(value);
}

/** `4.1 s`, `12m 42s`, `6m`, `1h 12m`: never like a time of day. */
export function duration(ms: number): string {
  const seconds = ms / 1000;
  if (ms < 1) return ms > 0 ? '< 1 ms' : '0 ms';
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return inTwo(minutes, 'm', Math.floor(seconds % 60), 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return inTwo(hours, 'h', minutes % 60, 'm');
  return `${Math.floor(hours / 24)} days`;
}

/** Time left: `1m 48s`, `2h 05m`. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)}h ${twoDigits(minutes % 60)}m`;
  return minutes === 0 ? `${seconds}s` : `${minutes}m ${twoDigits(seconds % 60)}s`;
}

/** Two units; the smaller one is left out if there is none of it. */
function inTwo(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${twoDigits(small)}${smallUnit}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** Age, without "ago". */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 1e6) return `${(size / 1e3).toFixed(size < 1e4 ? 1 : 0)} kB`;
  return size < 1e9 ? `${(size / 1e6).toFixed(1)} MB` : `${(size / 1e9).toFixed(1)} GB`;
}

export function percent(share: number): string {
  const value = share * 100;
  return `${value < 10 && value % 1 !== 0 ? value.toFixed(1) : Math.round(value)} %`;
}

/** `0.0123 %`: a rate to three significant digits. */
export function percentOf(rate: number): string {
  return `${Number((rate * 100).toPrecision(3))} %`;
}

/** `1 run`, `4 runs`. */
export function counted(value: number, word: string, many = `${word}s`): string {
  return `${count(value)} ${value === 1 ? word : many}`;
}

const MAX_WHOLE_ID = 20;

/** An id, whole up to 20 characters, else its beginning and end. The whole one belongs in the title. */
export function shortId(id: string): string {
  if (id.length <= MAX_WHOLE_ID) return visibleName(id);
  return `${visibleName(id.slice(0, 8))}…${visibleName(id.slice(-8))}`;
}

/**
 * Where a spreadsheet would begin a formula: at the start of a cell, and after what begins a cell or a line for one that
 * expects another delimiter. Spaces before it and full-width signs count too.
 */
const FORMULA = /(^|[;\t\r\n])(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/g;

/** One line of CSV (RFC 4180). A text that a spreadsheet would run as a formula gets an apostrophe. */
export function csvLine(values: readonly unknown[]): string {
  const cells = values.map((value) => {
    if (value === undefined || value === null) return '';
    if (typeof value === 'number') return String(value);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const safe = text.replace(FORMULA, "$1'");
    return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  });
  return `${cells.join(',')}\r\n`;
}
