import { WEEKDAYS as DAYS } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { answerTo } from '../../decisions/call.testing.ts';

const at = (receivedAt: string, config: object, actor?: object) =>
  answerTo('time_gate', config, { receivedAt, ...(actor === undefined ? {} : { actor: actor as never }) });
const hours = (start: string, end: string, days: readonly string[] = DAYS, timeZone = 'Europe/Berlin') => ({
  timeZone,
  windows: [{ days, start, end }],
});

describe('time_gate', () => {
  it('uses local wall-clock time and includes both ends', () => {
    // 2026-11-20 is a Friday; Berlin is one hour ahead of UTC.
    expect(at('2026-11-20T16:59:59.000Z', hours('18:00', '20:00'))).toBe(false);
    expect(at('2026-11-20T17:00:00.000Z', hours('18:00', '20:00'))).toBe(true);
    expect(at('2026-11-20T19:00:59.999Z', hours('18:00', '20:00'))).toBe(true);
    expect(at('2026-11-20T19:01:00.000Z', hours('18:00', '20:00'))).toBe(false);
  });

  it('continues past midnight into the day after it began', () => {
    const night = hours('22:00', '06:00', ['fri']);
    expect(at('2026-11-20T21:30:00.000Z', night)).toBe(true);
    expect(at('2026-11-21T04:30:00.000Z', night)).toBe(true);
    expect(at('2026-11-21T05:30:00.000Z', night)).toBe(false);
    expect(at('2026-11-20T04:30:00.000Z', night)).toBe(false);
    expect(at('2026-11-21T21:30:00.000Z', night)).toBe(false);
  });

  it('handles daylight-saving changes', () => {
    // Berlin: 02:00 became 03:00 on 2026-03-29, and 03:00 became 02:00 on 2026-10-25.
    const small = hours('02:00', '02:59');
    expect(at('2026-03-29T00:59:00.000Z', small)).toBe(false);
    expect(at('2026-03-29T01:00:00.000Z', small)).toBe(false);
    expect(at('2026-10-25T00:30:00.000Z', small)).toBe(true);
    expect(at('2026-10-25T01:30:00.000Z', small)).toBe(true);
    expect(at('2026-10-25T02:00:00.000Z', small)).toBe(false);
  });

  it('covers every instant exactly once together with its complement', () => {
    const clock = (minute: number) =>
      `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
    const minute = fc.integer({ min: 0, max: 1439 });
    const instant = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });
    const zone = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'UTC');
    fc.assert(
      fc.property(minute, minute, instant, zone, (start, end, ms, timeZone) => {
        fc.pre((end + 1) % 1440 !== start);
        const now = new Date(ms).toISOString();
        const rest = hours(clock((end + 1) % 1440), clock((start + 1439) % 1440), DAYS, timeZone);
        return at(now, hours(clock(start), clock(end), DAYS, timeZone)) !== at(now, rest);
      }),
    );
  });

  it("prefers the end user's time zone over the fixed one and is missing without either", () => {
    const config = { timeZoneTag: 'tz', windows: [{ days: DAYS, start: '09:00', end: '10:00' }] };
    const now = '2026-11-20T09:30:00.000Z';
    expect(at(now, config, { externalId: 'u', metadata: { tz: 'UTC' } })).toBe(true);
    expect(at(now, config, { externalId: 'u', metadata: { tz: 'Mars/Olympus' } })).toBe('missing');
    expect(at(now, config)).toBe('missing');
    expect(at(now, { ...config, timeZone: 'UTC' })).toBe(true);
  });

  it.each([
    [hours('9:00', '10:00'), 'must be a time'],
    [hours('09:00', '24:30'), 'must be a time'],
    [hours('09:00', '10:00', DAYS, 'Mars/Olympus'), 'not a known time zone'],
    [{ windows: [{ days: ['mon'], start: '09:00', end: '10:00' }] }, 'is required'],
  ])('rejects %j: %s', (config, message) => expect(() => at('2026-01-01T00:00:00.000Z', config)).toThrow(message));
});
