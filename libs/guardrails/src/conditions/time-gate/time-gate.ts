import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';

export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

interface LocalTime {
  readonly day: (typeof DAYS)[number];
  /** Minutes since local midnight, by wall-clock time. */
  readonly minute: number;
}

/**
 * Cache size. Creating a formatter costs a hundred times more than using it. Bounded because names also come from end
 * users.
 */
const MAX_ZONES = 200;
const formats = new Map<string, Intl.DateTimeFormat>();

function isTimeZone(name: string): boolean {
  return formatOf(name) !== null;
}

/** Returns the wall-clock time in a time zone, or null if the zone does not exist. */
function localTime(zone: string | undefined, atMs: number): LocalTime | null {
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
    if (formats.size >= MAX_ZONES) formats.clear();
    formats.set(zone, made);
    return made;
  } catch {
    return null;
  }
}

const Clock = z.string().regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, 'must be a time like "09:30", up to "24:00"');

const TimeGateConfig = z
  .strictObject({
    timeZone: z
      .string()
      .refine(isTimeZone, 'is not a known time zone; give a name like "Europe/Berlin"')
      .optional()
      .meta({ title: 'Time zone', description: 'Also used if the tag below is missing.' }),
    timeZoneTag: z.string().min(1).max(256).optional().meta({ title: 'Or end-user tag with the time zone' }),
    windows: z
      .array(
        z.strictObject({
          days: z.array(z.enum(DAYS)).min(1).max(7).meta({ title: 'Begins on' }),
          start: Clock.meta({ title: 'From' }),
          end: Clock.meta({ title: 'To (inclusive)' }),
        }),
      )
      .min(1)
      .max(50)
      .meta({ title: 'Windows' }),
  })
  .refine(({ timeZone, timeZoneTag }) => timeZone !== undefined || timeZoneTag !== undefined, {
    path: ['timeZone'],
    message: 'is required, or the end-user tag that holds it',
  });
type TimeGateConfig = z.infer<typeof TimeGateConfig>;
type Window = TimeGateConfig['windows'][number];

/** Matches within weekly windows of local time. A window that ends before it begins continues past midnight. */
export const timeGate: CallCondition<TimeGateConfig> = {
  type: 'time_gate',
  title: 'Time of day',
  description: 'The local time is inside one of the weekly windows.',
  unit: '',
  cadence: 'call',
  config: TimeGateConfig,
  example: { timeZone: 'Europe/Berlin', windows: [{ days: ['fri'], start: '18:00', end: '06:00' }] },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready({ timeZone, timeZoneTag, windows }) {
    const open = windows.map(windowTest);
    return {
      reads: timeZoneTag === undefined ? [] : ['actor'],
      matches({ request: { actor }, nowMs }) {
        const tagged = timeZoneTag === undefined ? undefined : actor?.metadata?.[timeZoneTag];
        const local = localTime(tagged ?? timeZone, nowMs);
        return local === null ? 'missing' : open.some((isOpen) => isOpen(local));
      },
    };
  },
};

function windowTest({ days, start, end }: Window): (local: LocalTime) => boolean {
  const [from, to] = [minuteOf(start), minuteOf(end)];
  const begins = new Set<string>(days);
  return ({ day, minute }) => {
    const today = begins.has(day);
    if (from <= to) return today && minute >= from && minute <= to;
    return (today && minute >= from) || (begins.has(dayBefore(day)) && minute <= to);
  };
}

function minuteOf(clock: string): number {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  return hours * 60 + minutes;
}

function dayBefore(day: LocalTime['day']): string {
  return DAYS[(DAYS.indexOf(day) + 6) % 7] ?? day;
}
