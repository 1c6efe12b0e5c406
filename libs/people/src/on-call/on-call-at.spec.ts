import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  OnCallLayer,
  OnCallSchedule,
  readLocalMinutes,
  WEEKDAYS,
} from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nextOnCall, type OnCall, onCallAt } from './on-call-at.ts';

const layer = (change: object = {}) =>
  OnCallLayer.parse({ people: ['ann', 'ben'], startsOn: '2026-03-02', rotation: 'day', ...change });
const schedule = (change: Partial<OnCall> = {}): OnCall => ({ name: 'Platform', layers: [], overrides: [], ...change });
const ask = (of: OnCall, at: string) => onCallAt(of, Date.parse(at));

/** Zones with whole, half and no changes of clocks, ahead of and behind UTC, and one that changes at midnight. */
const ZONES = [
  ...['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata'],
  ...['America/Santiago', 'Pacific/Apia', 'Pacific/Kiritimati', 'Africa/Cairo'],
];

/** Walks minute by minute to the handover of a local day. A skipped one happens as much later as clocks jump. */
function walkTo(zone: string, local: number): number {
  let at = local * MINUTE_MS - DAY_MS;
  let shown = readLocalMinutes(zone, at) ?? 0;
  // In whole hours first; a change of clocks is not nearer than that many minutes.
  while (local - shown > 4 * 60) {
    at += HOUR_MS;
    shown = readLocalMinutes(zone, at) ?? 0;
  }
  for (;;) {
    const before = shown;
    if (shown === local) return at;
    at += MINUTE_MS;
    shown = readLocalMinutes(zone, at) ?? 0;
    if (before < local && shown > local) return at + (local - before - 1) * MINUTE_MS;
  }
}

describe('an on-call schedule', () => {
  it('hands over each day or week at the local time', () => {
    const daily = schedule({ layers: [layer({ zone: 'Europe/Berlin' })] });
    expect(ask(daily, '2026-03-02T07:59:59Z')).toEqual({ person: null, because: 'empty_shift' });
    expect(ask(daily, '2026-03-02T08:00:00Z')).toEqual({ person: 'ann', because: 'layer', layer: 1 });
    expect(ask(daily, '2026-03-03T07:59:59Z')).toMatchObject({ person: 'ann' });
    expect(ask(daily, '2026-03-03T08:00:00Z')).toMatchObject({ person: 'ben' });
    const weekly = schedule({ layers: [layer({ zone: 'Europe/Berlin', rotation: 'week' })] });
    expect(ask(weekly, '2026-03-09T07:59:00Z')).toMatchObject({ person: 'ann' });
    expect(ask(weekly, '2026-03-09T08:00:00Z')).toMatchObject({ person: 'ben' });
    // Summer time: nine o'clock is an hour earlier.
    expect(ask(weekly, '2026-03-30T06:59:00Z')).toMatchObject({ person: 'ben' });
    expect(ask(weekly, '2026-03-30T07:00:00Z')).toMatchObject({ person: 'ann' });
  });

  it('hands over once when clocks are put back, and as much later as they are put forward', () => {
    const night = schedule({ layers: [layer({ zone: 'Europe/Berlin', handover: '02:30', startsOn: '2026-03-01' })] });
    const [before, after] = [ask(night, '2026-10-25T00:29:00Z'), ask(night, '2026-10-25T00:30:00Z')];
    expect(after.person).not.toBe(before.person);
    expect(ask(night, '2026-10-25T01:15:00Z')).toEqual(after);
    expect(ask(night, '2026-10-25T01:30:00Z')).toEqual(after);
    expect(ask(night, '2026-03-29T01:29:00Z').person).not.toBe(ask(night, '2026-03-29T01:30:00Z').person);
    expect(ask(night, '2026-03-29T00:59:00Z')).toEqual(ask(night, '2026-03-29T01:29:00Z'));
  });

  it('asks the next layer where one has no shift, and an override before all layers', () => {
    const of = schedule({
      layers: [layer({ people: ['wendy'], days: ['sat', 'sun'] }), layer({ people: ['ann'], days: ['mon'] })],
      overrides: [
        { id: 'first', person: 'olga', from: '2026-03-07T10:00:00Z', to: '2026-03-07T12:00:00Z' },
        { id: 'last', person: 'otto', from: '2026-03-07T11:00:00Z', to: '2026-03-07T12:00:00Z' },
      ],
    });
    expect(ask(of, '2026-03-07T09:30:00Z')).toEqual({ person: 'wendy', because: 'layer', layer: 1 });
    expect(ask(of, '2026-03-07T10:00:00Z')).toEqual({ person: 'olga', because: 'override', override: 'first' });
    expect(ask(of, '2026-03-07T11:00:00Z')).toEqual({ person: 'otto', because: 'override', override: 'last' });
    expect(ask(of, '2026-03-07T12:00:00Z')).toMatchObject({ person: 'wendy' });
    expect(ask(of, '2026-03-09T09:00:00Z')).toEqual({ person: 'ann', because: 'layer', layer: 2 });
    expect(ask(of, '2026-03-10T09:00:00Z')).toEqual({ person: null, because: 'empty_shift' });
  });

  it('says who comes next, and nothing where the person stays', () => {
    const of = schedule({ layers: [layer()] });
    expect(nextOnCall(of, Date.parse('2026-03-02T10:00:00Z'))).toEqual({
      atMs: Date.parse('2026-03-03T09:00:00Z'),
      answer: { person: 'ben', because: 'layer', layer: 1 },
    });
    expect(nextOnCall(of, Date.parse('2026-01-01T00:00:00Z'))).toMatchObject({
      atMs: Date.parse('2026-03-02T09:00:00Z'),
      answer: { person: 'ann' },
    });
    expect(nextOnCall(schedule(), 0)).toBeUndefined();
    expect(nextOnCall(schedule({ layers: [layer({ people: ['ann'] })] }), Date.parse('2026-04-01'))).toBeUndefined();
  });

  it('hands over when the clocks of any zone first show the time', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.integer({ min: 0, max: 24 * 60 - 1 }),
        fc.integer({ min: 1, max: 700 }),
        (zone, minute, days) => {
          const handover = `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
          // A name for each day, so that a shift too many or too few is seen.
          const of = schedule({
            layers: [
              layer({ people: Array.from({ length: 50 }, (_, n) => `p${n}`), zone, handover, startsOn: '2025-01-01' }),
            ],
          });
          const starts = walkTo(zone, (Date.parse('2025-01-01') + days * DAY_MS) / MINUTE_MS + minute);
          expect(onCallAt(of, starts)).toMatchObject({ person: `p${days % 50}` });
          expect(onCallAt(of, starts - 1)).toMatchObject({ person: `p${(days - 1) % 50}` });
        },
      ),
      { numRuns: 200 },
    );
  });

  it('never goes back to an earlier shift, and changes only where it says', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.constantFrom('00:00', '00:30', '01:45', '02:30', '03:00', '23:30'),
        fc.constantFrom('day' as const, 'week' as const),
        fc.option(fc.subarray([...WEEKDAYS], { minLength: 1 }), { nil: undefined }),
        fc.integer({ min: Date.parse('2025-01-01'), max: Date.parse('2027-01-01') }),
        (zone, handover, rotation, days, startMs) => {
          const of = schedule({ layers: [layer({ zone, handover, rotation, days, startsOn: '2025-06-01' })] });
          const now = onCallAt(of, startMs);
          const next = nextOnCall(of, startMs);
          const end = next?.atMs ?? startMs + 14 * DAY_MS;
          for (let at = startMs; at < end; at += Math.max(HOUR_MS / 4, (end - startMs) / 200))
            expect(onCallAt(of, at).person).toBe(now.person);
          if (next !== undefined) {
            expect(onCallAt(of, next.atMs - 1).person).toBe(now.person);
            expect(onCallAt(of, next.atMs)).toEqual(next.answer);
            expect(next.answer.person).not.toBe(now.person);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each([
    ['an unknown zone', { zone: 'Europe/Atlantis' }],
    ['an invalid time', { handover: '24:00' }],
    ['an invalid date', { startsOn: '2026-02-30' }],
    ['no people', { people: [] }],
    ['51 people', { people: Array.from({ length: 51 }, (_, n) => `p${n}`) }],
  ])('refuses a layer with %s', (_what, change) => {
    expect(OnCallLayer.safeParse({ ...layer(), ...change }).success).toBe(false);
    expect(OnCallSchedule.safeParse({ name: 'x', layers: [layer()] }).success).toBe(true);
  });

  it('refuses 11 layers', () => {
    const layers = Array.from({ length: 11 }, () => layer());
    expect(OnCallSchedule.safeParse({ name: 'x', layers }).success).toBe(false);
    expect(OnCallSchedule.safeParse({ name: 'x', layers: layers.slice(1) }).success).toBe(true);
  });
});
