export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** A time as clocks in a zone show it. When clocks are put back, a time occurs twice; when put forward, some never. */
export interface WallClock {
  readonly day: Weekday;
  /** Minutes since local midnight. */
  readonly minute: number;
}

/**
 * Cache size. Creating a formatter costs a hundred times more than using it. Bounded because names also come from
 * tenants and end users.
 */
const MAX_ZONES = 200;
const formats = new Map<string, Intl.DateTimeFormat>();

export function isTimeZone(name: string): boolean {
  return findFormat(name) !== undefined;
}

/** Returns undefined if there is no such zone. */
export function readWallClock(zone: string, atMs: number): WallClock | undefined {
  const format = findFormat(zone);
  if (format === undefined) return undefined;
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const shown = parts.get('weekday')?.toLowerCase();
  const day = WEEKDAYS.find((name) => name === shown);
  return day && { day, minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')) };
}

/**
 * Minutes since 1970-01-01T00:00 on the wall clock of a zone: what its clocks and calendars show, without the offset.
 *
 * @returns undefined if there is no such zone
 */
export function readLocalMinutes(zone: string, atMs: number): number | undefined {
  const format = findFormat(zone);
  if (format === undefined) return undefined;
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const read = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  return Date.UTC(read('year'), read('month') - 1, read('day'), read('hour'), read('minute')) / 60_000;
}

export function dayBefore(day: Weekday): Weekday {
  return WEEKDAYS[(WEEKDAYS.indexOf(day) + 6) % 7] ?? day;
}

/** Minutes since midnight of a time such as `09:30`. */
export function minuteOfDay(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

function findFormat(zone: string): Intl.DateTimeFormat | undefined {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  let made: Intl.DateTimeFormat;
  try {
    made = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      weekday: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  if (formats.size >= MAX_ZONES) formats.clear();
  formats.set(zone, made);
  return made;
}
