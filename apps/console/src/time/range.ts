import { DAY_MS, HOUR_MS } from '../../../../libs/contracts/src/times.ts';

/** Time range of a link. `24h` and `7d` stay relative; `from` and `to` are instants. */
export interface Range {
  readonly range?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export const RANGES = ['1h', '6h', '24h', '7d', '30d'] as const;
export const DEFAULT_RANGE = '24h';

const UNIT_MS = { h: HOUR_MS, d: DAY_MS } as const;

function lengthMs(range: string): number {
  const [, digits = '24', unit = 'h'] = /^(\d+)([hd])$/.exec(range) ?? [];
  return Number(digits) * UNIT_MS[unit as 'h' | 'd'];
}

/** Bounds for the API, relative to now. */
export function bounds({ range, from, to }: Range, now = Date.now()): { from: string; to?: string } {
  if (from !== undefined) return to === undefined ? { from } : { from, to };
  return { from: new Date(now - lengthMs(range ?? DEFAULT_RANGE)).toISOString() };
}

const UNITS = { h: 'h', d: 'days' } as const;

/** `Last 24 h`. */
export function rangeName({ range, from }: Range): string {
  if (from !== undefined) return 'Fixed range';
  const [, digits = '', unit = 'h'] = /^(\d+)([hd])$/.exec(range ?? DEFAULT_RANGE) ?? [];
  return `Last ${digits} ${UNITS[unit as 'h' | 'd']}`;
}

/** The next longer range, for "0 here, 12 in 7 days". */
export function wider(range: string): string {
  return RANGES.find((one) => lengthMs(one) > lengthMs(range)) ?? '30d';
}
