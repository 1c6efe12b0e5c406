import { stored } from '../ui/stored.ts';

/** Looked up once, because each time on a page needs it. */
let browserZone: string | undefined;

/** The time zone of all pages. */
export function zone(): string {
  const chosen = stored('zone');
  if (chosen !== '') return chosen;
  browserZone ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
  return browserZone;
}

/** `UTC+1`, `UTC+5:30`, `UTC`. */
export function offset(at = Date.now(), inZone = zone()): string {
  const part = new Intl.DateTimeFormat('en', { timeZone: inZone, timeZoneName: 'shortOffset' })
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')?.value;
  return part === undefined || part === 'GMT' ? 'UTC' : part.replace('GMT', 'UTC');
}

const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone()} ${JSON.stringify(options)}`;
  const known =
    formats.get(key) ?? new Intl.DateTimeFormat('en-GB', { timeZone: zone(), hourCycle: 'h23', ...options });
  formats.set(key, known);
  return known;
}

const dayOf = (at: number) => format({ year: 'numeric', month: '2-digit', day: '2-digit' }).format(at);

/** `03:11:14`, with the date if it is not today. */
export function clock(at: number | string, withMs = false): string {
  const ms = typeof at === 'string' ? Date.parse(at) : at;
  const time = format({
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    ...(withMs ? { fractionalSecondDigits: 3 as const } : {}),
  }).format(ms);
  return dayOf(ms) === dayOf(Date.now()) ? time : `${format({ day: 'numeric', month: 'short' }).format(ms)} ${time}`;
}

/** `03:11`, or `23 Nov 03:11`. */
export function shortClock(at: number | string): string {
  const ms = typeof at === 'string' ? Date.parse(at) : at;
  const time = format({ hour: '2-digit', minute: '2-digit' }).format(ms);
  return dayOf(ms) === dayOf(Date.now()) ? time : `${format({ day: 'numeric', month: 'short' }).format(ms)} ${time}`;
}

export function weekday(at: number): string {
  return format({ weekday: 'short' }).format(at);
}

const PARTS: Intl.DateTimeFormatOptions = {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
};
const partFormats = new Map<string, Intl.DateTimeFormat>();
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** An instant on the clock and calendar of a zone, with the zone's distance from UTC at that instant. */
export function localParts(at: number, inZone = zone()): { time: string; day: string; offsetMs: number } {
  const known = partFormats.get(inZone) ?? new Intl.DateTimeFormat('en-US', { timeZone: inZone, ...PARTS });
  partFormats.set(inZone, known);
  const part = Object.fromEntries(known.formatToParts(at).map(({ type, value }) => [type, value]));
  const month = MONTHS.indexOf(part.month ?? '');
  const [year, day, hour, minute, second] = [part.year, part.day, part.hour, part.minute, part.second].map(Number);
  const local = Date.UTC(year ?? 0, month, day ?? 1, hour ?? 0, minute ?? 0, second ?? 0);
  return {
    time: `${part.hour}:${part.minute}`,
    day: `${part.day} ${part.month}`,
    offsetMs: local - Math.floor(at / 1000) * 1000,
  };
}
