export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export interface LocalTime {
  readonly day: (typeof DAYS)[number];
  /** Minutes since local midnight by the clock on the wall. */
  readonly minute: number;
}

/** Making a formatter costs a hundred times more than using it. Names come from end users too, so only some are kept. */
const MOST_ZONES = 200;
const formats = new Map<string, Intl.DateTimeFormat>();

export function isTimeZone(name: string): boolean {
  return formatOf(name) !== null;
}

/** What a clock on the wall shows in a time zone; null: there is no such zone. */
export function localTime(zone: string | undefined, atMs: number): LocalTime | null {
  const format = zone === undefined ? null : formatOf(zone);
  if (format === null) return null;
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const shown = parts.get('weekday')?.toLowerCase();
  const day = DAYS.find((name) => name === shown);
  if (day === undefined) return null;
  return { day, minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')) };
}

function formatOf(zone: string): Intl.DateTimeFormat | null {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  try {
    const made = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    if (formats.size >= MOST_ZONES) formats.clear();
    formats.set(zone, made);
    return made;
  } catch {
    return null;
  }
}
