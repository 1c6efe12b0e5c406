import { z } from 'zod';
import { ClientId, displayName, Instant } from './ids.ts';
import { TeamId } from './people.ts';
import { TimeOfDay } from './routing.ts';
import { isTimeZone, WEEKDAYS } from './wall-clock.ts';

export const MAX_ON_CALL_SCHEDULES = 100;
export const MAX_ON_CALL_OVERRIDES = 200;
export const MAX_ON_CALL_OVERRIDE_DAYS = 30;

/** Id of an on-call schedule, spelled as the id of a team. */
export const OnCallId = TeamId;

/** People who take turns. A shift starts at the handover and ends at the next. */
export const OnCallLayer = z.strictObject({
  people: z.array(ClientId).min(1).max(50).meta({ description: 'Ids of people, in the order of their shifts.' }),
  rotation: z.enum(['day', 'week']).default('week'),
  startsOn: z.iso
    .date()
    .meta({ description: 'Local date of the first handover. A weekly shift starts on this weekday.' }),
  handover: TimeOfDay.default('09:00'),
  zone: z.string().max(60).refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin').default('UTC'),
  days: z
    .array(z.enum(WEEKDAYS))
    .min(1)
    .max(7)
    .optional()
    .meta({ description: 'Only these days, each from handover to handover. Default: all.' }),
});
export type OnCallLayer = z.output<typeof OnCallLayer>;

/** Who is on call when. The first layer that has a shift answers. */
export const OnCallSchedule = z.strictObject({
  name: displayName(z.string().trim()),
  layers: z.array(OnCallLayer).max(10).default([]),
});
export type OnCallSchedule = z.output<typeof OnCallSchedule>;

/** A person who is on call instead of the layers. Of two at once, the one that was added last applies. */
export const OnCallOverride = z.object({ id: z.string(), person: ClientId, from: Instant, to: Instant });
export type OnCallOverride = z.output<typeof OnCallOverride>;
