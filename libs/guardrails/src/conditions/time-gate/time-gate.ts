import { dayBefore, isTimeZone, minuteOfDay, readWallClock, type WallClock, WEEKDAYS } from '@agentlens/contracts';
import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';

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
          days: z.array(z.enum(WEEKDAYS)).min(1).max(7).meta({ title: 'Begins on' }),
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
        const zone = tagged ?? timeZone;
        const local = zone === undefined ? undefined : readWallClock(zone, nowMs);
        return local === undefined ? 'missing' : open.some((isOpen) => isOpen(local));
      },
    };
  },
};

function windowTest({ days, start, end }: Window): (local: WallClock) => boolean {
  const [from, to] = [minuteOfDay(start), minuteOfDay(end)];
  const begins = new Set(days);
  return ({ day, minute }) => {
    const today = begins.has(day);
    if (from <= to) return today && minute >= from && minute <= to;
    return (today && minute >= from) || (begins.has(dayBefore(day)) && minute <= to);
  };
}
