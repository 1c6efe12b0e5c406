import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Reads an instant, a date, or an age like `30m`, `2h` or `7d` counted back from now. */
export function instantBefore(nowMs: () => number): (text: string) => string {
  return (text) => read(text, (lengthMs) => nowMs() - lengthMs, 'an age');
}

/** Reads an instant, a date, or a length like `12h` or `30d` counted from now on. */
export function instantFrom(nowMs: () => number): (text: string) => string {
  return (text) => read(text, (lengthMs) => nowMs() + lengthMs, 'a time from now');
}

function read(text: string, counted: (lengthMs: number) => number, kind: string): string {
  const [, amount, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return new Date(counted(Number(amount) * (UNITS[unit] ?? 0))).toISOString();
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw new InvalidArgumentError(`Give an instant like 2026-11-25T10:00:00Z, a date, or ${kind} like 30m, 2h, 7d.`);
}
