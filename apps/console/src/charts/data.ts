import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../libs/contracts/src/times.ts';
import { count, duration, money } from '../figures/figures.ts';
import { localParts, offset } from '../time/zone.ts';

/** How values of a chart are written, and which steps its axis may take. */
export interface Unit {
  readonly format: (value: number) => string;
  readonly increments?: readonly number[];
  /** Whether values of several buckets may be added up. */
  readonly additive: boolean;
}

const DECADES = Array.from({ length: 13 }, (_, power) => 10 ** power).flatMap((one) => [one, 2 * one, 5 * one]);
const TIME_STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 18e5, 36e5, 144e5, 864e5,
];

export const UNITS = {
  count: { format: (value) => count(value), increments: DECADES, additive: true },
  usd: { format: money, additive: true },
  ms: { format: duration, increments: TIME_STEPS, additive: false },
} satisfies Record<string, Unit>;

/** A state hue, or one of eight categories that mean nothing by themselves. */
export type Tone = 'accent' | 'good' | 'warn' | 'bad' | 'ghost' | 'mute' | `category-${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8}`;

/** The tone of the n-th category: eight, then again from the first. */
export function categoryTone(index: number): Tone {
  return `category-${((index % 8) + 1) as 1}`;
}

export interface ChartSeries<T> {
  readonly id: string;
  readonly name: string;
  readonly tone: Tone;
  /** Bars and areas stand on each other in the order of the series; lines stand alone. */
  readonly shape: 'bar' | 'area' | 'line';
  /** The value of a bucket; `null` is unknown and leaves a gap. */
  readonly value: (row: T) => number | null;
  /** What a bucket without a row means: `0` for counts that omit empty buckets, else a gap. */
  readonly missing?: 0 | null;
}

/** A level that values are compared with, such as a limit. */
export interface ReferenceLine {
  readonly value: number;
  readonly label: string;
  readonly tone: Tone;
}

/** Something that happened at an instant, such as a deploy or a changed rule. */
export interface Marker {
  readonly at: number;
  readonly label: string;
  readonly href?: string;
  /** Short text beside the marker. */
  readonly tag?: string;
}

/** A marker, or several that stand too close together to tell apart. */
export interface MarkerGroup extends Marker {
  readonly count: number;
}

/** Most names that the title of a group lists. */
const LISTED = 8;

/**
 * Folds markers that are less than `widthMs` apart into one. A marker with a tag, such as a deploy, is never folded: it
 * is what other changes are compared with.
 */
export function foldMarkers(markers: readonly Marker[], widthMs: number): MarkerGroup[] {
  const groups: [Marker, ...Marker[]][] = [];
  for (const marker of markers.filter(({ tag }) => tag === undefined).sort((a, b) => a.at - b.at)) {
    const last = groups.at(-1);
    if (last !== undefined && marker.at - last[0].at < widthMs) last.push(marker);
    else groups.push([marker]);
  }
  const tagged = markers.filter(({ tag }) => tag !== undefined).map((marker) => ({ ...marker, count: 1 }));
  return [...groups.map(groupOf), ...tagged];
}

function groupOf(group: readonly [Marker, ...Marker[]]): MarkerGroup {
  const [first] = group;
  if (group.length === 1) return { ...first, count: 1 };
  const labels = group.slice(0, LISTED).map(({ label }) => label);
  const rest = group.length > LISTED ? [`and ${group.length - LISTED} more`] : [];
  return {
    at: first.at,
    label: [`${group.length} changes`, ...labels, ...rest].join('\n'),
    href: 'audit',
    count: group.length,
  };
}

export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** The numbers of a chart: one value per series and bucket, every bucket of the range present. */
export interface Frame {
  readonly range: TimeSpan;
  readonly bucketMs: number;
  /** Starts of the buckets, ms. */
  readonly times: readonly number[];
  readonly series: readonly {
    readonly id: string;
    readonly name: string;
    readonly tone: Tone;
    readonly shape: 'bar' | 'area' | 'line';
    readonly values: readonly (number | null)[];
  }[];
}

const MAX_BUCKETS = 3_000;

/** Puts rows into buckets of one width. A bucket without a row stays a gap unless its series says that it is 0. */
export function frameOf<T>(
  rows: readonly T[],
  at: (row: T) => number,
  bucketMs: number,
  range: TimeSpan,
  series: readonly ChartSeries<T>[],
): Frame {
  const byStart = new Map(rows.map((row) => [at(row), row]));
  const [anchor = 0] = byStart.keys();
  const shift = ((anchor % bucketMs) + bucketMs) % bucketMs;
  const first = Math.floor((range.from - shift) / bucketMs) * bucketMs + shift;
  const length = Math.max(0, Math.min(MAX_BUCKETS, Math.ceil((range.to - first) / bucketMs)));
  const times = Array.from({ length }, (_, index) => first + index * bucketMs);
  return {
    range: { from: Math.min(range.from, first), to: Math.max(range.to, first + length * bucketMs) },
    bucketMs,
    times,
    series: series.map(({ id, name, tone, shape, value, missing = null }) => ({
      id,
      name,
      tone,
      shape,
      values: times.map((time) => {
        const row = byStart.get(time);
        return row === undefined ? missing : value(row);
      }),
    })),
  };
}

/** The upper edge of each bar and area; lines as they are. Unknown adds nothing, all unknown is a gap. */
export function stacked({ times, series }: Frame): readonly (readonly (number | null)[])[] {
  const below = times.map((): number | null => null);
  return series.map(({ shape, values }) =>
    shape === 'line'
      ? values
      : values.map((value, index) => {
          const sum = value === null ? (below[index] ?? null) : (below[index] ?? 0) + value;
          below[index] = sum;
          return sum;
        }),
  );
}

/** What a series says while no bucket is chosen: the sum where sums have a meaning, else its latest known value. */
export function summaryOf(values: readonly (number | null)[], unit: Unit): { value: number | null; word: string } {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return { value: null, word: '' };
  return unit.additive
    ? { value: known.reduce((sum, value) => sum + value, 0), word: 'total' }
    : { value: known.at(-1) ?? null, word: 'latest' };
}

const STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * DAY_MS),
];

/** Round instants of a zone for the time axis, at most as many as asked for; across a change of summer time too. */
export function timeTicks({ from, to }: TimeSpan, zone: string, most: number): number[] {
  const step = STEPS_MS.find((ms) => (to - from) / ms <= Math.max(1, most)) ?? STEPS_MS.at(-1) ?? DAY_MS;
  const ticks: number[] = [];
  let at = from;
  while (ticks.length <= most + 1) {
    const shift = localParts(at, zone).offsetMs;
    let next = Math.ceil((at + shift) / step) * step - shift;
    // The offset at the tick decides, not the one before it.
    next += shift - localParts(next, zone).offsetMs;
    if (next > to) return ticks;
    if (next >= at) ticks.push(next);
    at = Math.max(at, next) + 1;
  }
  return ticks;
}

/** `14:05`, or the day where a tick stands on midnight. */
export function tickLabel(at: number, zone: string): string {
  const { time, day } = localParts(at, zone);
  return time === '00:00' ? day : time;
}

/** `26 Nov 14:00–14:05 UTC+1`. */
export function bucketLabel(start: number, bucketMs: number, zone: string): string {
  const first = localParts(start, zone);
  const last = localParts(start + bucketMs, zone);
  const end = bucketMs >= DAY_MS && last.time === first.time ? '' : `–${last.time}`;
  return `${first.day} ${end === '' && first.time === '00:00' ? '' : first.time}${end} ${offset(start, zone)}`.replace(
    / {2,}/g,
    ' ',
  );
}

/** A level far above all values would flatten them; then only the legend names it. */
export function isInScale(value: number, highest: number): boolean {
  return value <= Math.max(highest, 0) * 4;
}
