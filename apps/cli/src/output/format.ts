import type { Cell } from './table.ts';

/** An instant without its fractions: `2026-11-25T02:09:41Z`. */
export function instant(text: string | null | undefined): Cell {
  return text?.replace(/\.\d+Z$/, 'Z');
}

/** `$0.0012`, `$12.50`: cents, and more digits where there is less than a cent. */
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

/** `10:04:07Z`, in UTC like every instant that is printed. */
export function timeOfDay(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)}Z`;
}
