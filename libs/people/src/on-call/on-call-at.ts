import {
  DAY_MS,
  MINUTE_MS,
  minuteOfDay,
  type OnCallLayer,
  type OnCallOverride,
  type OnCallSchedule,
  readLocalMinutes,
  WEEKDAYS,
} from '@agentlens/contracts';

const DAY_MINUTES = 24 * 60;
/** 1970-01-01 was a Thursday. */
const FIRST_WEEKDAY = 3;
/** Handovers and ends of overrides that are looked at to find the next person. Bounds the work of a request. */
const MAX_BOUNDARIES = 60;

/** A schedule with its overrides in the order in which they were added. */
export interface OnCall extends OnCallSchedule {
  readonly overrides: readonly OnCallOverride[];
}

/** Who is on call at a moment, and why. */
export type OnCallAnswer =
  | { readonly person: string; readonly because: 'override'; readonly override: string }
  /** `layer` counts from 1. */
  | { readonly person: string; readonly because: 'layer'; readonly layer: number }
  /** No override applies and no layer has a shift. */
  | { readonly person: null; readonly because: 'empty_shift' };

/** Finds who is on call. The last override that covers the moment wins, then the first layer that has a shift. */
export function onCallAt({ layers, overrides }: OnCall, atMs: number): OnCallAnswer {
  const override = overrides.findLast(({ from, to }) => Date.parse(from) <= atMs && atMs < Date.parse(to));
  if (override !== undefined) return { person: override.person, because: 'override', override: override.id };
  for (const [n, layer] of layers.entries()) {
    const person = personOf(layer, shiftDay(layer, atMs));
    if (person !== undefined) return { person, because: 'layer', layer: n + 1 };
  }
  return { person: null, because: 'empty_shift' };
}

/**
 * Finds the next moment at which another person is on call, or no person.
 *
 * @returns undefined if the same person stays for the next 60 handovers and changes by overrides
 */
export function nextOnCall(schedule: OnCall, atMs: number): { atMs: number; answer: OnCallAnswer } | undefined {
  const { person } = onCallAt(schedule, atMs);
  let changesAt: number | undefined = atMs;
  for (let n = 0; n < MAX_BOUNDARIES; n += 1) {
    changesAt = nextBoundary(schedule, changesAt);
    if (changesAt === undefined) return undefined;
    const answer = onCallAt(schedule, changesAt);
    if (answer.person !== person) return { atMs: changesAt, answer };
  }
  return undefined;
}

/** The next handover of a layer, or start or end of an override. */
function nextBoundary({ layers, overrides }: OnCall, atMs: number): number | undefined {
  const handovers = layers.map((layer) => {
    const first = Date.parse(layer.startsOn) / DAY_MS;
    return handoverMs(layer, Math.max(shiftDay(layer, atMs) + 1, first));
  });
  const times = [...handovers, ...overrides.flatMap(({ from, to }) => [Date.parse(from), Date.parse(to)])];
  const later = times.filter((time) => time > atMs);
  return later.length === 0 ? undefined : Math.min(...later);
}

/** The person whose shift covers the day, in days since 1970-01-01; undefined if the layer has no shift then. */
function personOf({ people, rotation, startsOn, days }: OnCallLayer, day: number): string | undefined {
  const since = day - Date.parse(startsOn) / DAY_MS;
  const weekday = WEEKDAYS[(((day + FIRST_WEEKDAY) % 7) + 7) % 7];
  if (since < 0 || (days !== undefined && !days.some((one) => one === weekday))) return undefined;
  return people[Math.floor(since / (rotation === 'week' ? 7 : 1)) % people.length];
}

/**
 * The local day whose handover was the last before the moment, in days since 1970-01-01. It never goes back: where
 * clocks are put back over a handover, it happens the first time that they show it.
 */
function shiftDay(layer: OnCallLayer, atMs: number): number {
  let day = Math.floor(localMinutes(layer.zone, atMs) / DAY_MINUTES) + 1;
  while (handoverMs(layer, day) > atMs) day -= 1;
  return day;
}

/** When the clocks of the zone first show the handover of a day. One that is skipped happens as much later as they jump. */
function handoverMs({ zone, handover }: OnCallLayer, day: number): number {
  const local = day * DAY_MS + minuteOfDay(handover) * MINUTE_MS;
  // A day ahead of the handover in any zone, so before a change of clocks that night.
  const early = local - offsetMs(zone, local - DAY_MS);
  const late = local - offsetMs(zone, early);
  // Clocks put forward: `late` lies before the change in the skipped hour, so it does not show the handover.
  return offsetMs(zone, late) === offsetMs(zone, early) ? late : early;
}

/** How far the wall clock of the zone is ahead of UTC. */
function offsetMs(zone: string, atMs: number): number {
  return localMinutes(zone, atMs) * MINUTE_MS - Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
}

/** A zone that this process does not know counts as UTC: schedules are checked when they are saved. */
function localMinutes(zone: string, atMs: number): number {
  return readLocalMinutes(zone, atMs) ?? atMs / MINUTE_MS;
}
