import { MuteWindow } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { explainRouting } from './explain.ts';
import { matchesEverything, parseMatchers } from './matchers.ts';
import { anAlert, aTree, NOW } from './routing.testing.ts';
import { findSuppression, type SuppressionState } from './suppress.ts';
import { isInWindow } from './windows.ts';

const at = (text: string) => Date.parse(text);
const silence = (texts: readonly string[], fromMs = NOW, toMs = NOW + 60_000) => ({
  ...{ id: 'silence-1', matchers: parseMatchers(texts).matchers, startsAtMs: fromMs, endsAtMs: toMs },
});

describe('a window', () => {
  const minutesInside = (window: MuteWindow, from: string, to: string) => {
    let count = 0;
    for (let ms = at(from); ms < at(to); ms += 60_000) if (isInWindow(window, ms)) count += 1;
    return count;
  };
  const nights = MuteWindow.parse({ from: '22:00', to: '06:00', zone: 'Europe/Berlin' });

  it.each([
    ['of an ordinary night', '2026-03-24T12:00:00Z', '2026-03-25T12:00:00Z', 480],
    ['of the night in which the clock is put forward', '2026-03-28T12:00:00Z', '2026-03-29T12:00:00Z', 420],
    ['of the night in which the clock is put back', '2026-10-24T12:00:00Z', '2026-10-25T12:00:00Z', 540],
  ])('%s lasts as long as the wall clock says', (_what, from, to, minutes) => {
    expect(minutesInside(nights, from, to)).toBe(minutes);
  });

  it('occurs twice when its time of day does', () => {
    const window = MuteWindow.parse({ from: '02:30', to: '02:45', zone: 'Europe/Berlin' });
    expect(minutesInside(window, '2026-10-24T12:00:00Z', '2026-10-25T12:00:00Z')).toBe(30);
    expect(minutesInside(window, '2026-03-28T12:00:00Z', '2026-03-29T12:00:00Z')).toBe(0);
  });

  it('that crosses midnight belongs to the day on which it starts', () => {
    const fridays = MuteWindow.parse({ days: ['fri'], from: '22:00', to: '06:00', zone: 'UTC' });
    expect(isInWindow(fridays, at('2026-03-06T23:00:00Z'))).toBe(true);
    expect(isInWindow(fridays, at('2026-03-07T05:59:00Z'))).toBe(true);
    expect(isInWindow(fridays, at('2026-03-07T06:00:00Z'))).toBe(false);
    expect(isInWindow(fridays, at('2026-03-06T05:00:00Z'))).toBe(false);
  });
});

describe('suppression', () => {
  const tree = aTree({
    routes: [{ id: 'all', channels: ['ops'] }],
    inhibit: [{ source: ['severity=critical'], target: ['severity=warn'], equal: ['agent', 'team'] }],
  });
  const warn = anAlert({ severity: 'warn', agent: 'a', team: 't' }, 'warn');
  const state = (fields: Partial<SuppressionState> = {}): SuppressionState => ({
    ...{ tree, silences: [], firing: [], nowMs: NOW, ...fields },
  });
  const found = (fields: Partial<SuppressionState>) => findSuppression(warn, { mute: [] }, state(fields));

  it('never hides an alert about access', () => {
    const about = { ...warn, labels: { ...warn.labels, kind: 'security' } };
    const silences = [silence(['agent=a'])];
    expect(findSuppression(about, { mute: [] }, state({ silences }))).toBeUndefined();
  });

  it('by a silence lasts from its start to before its end', () => {
    const silences = [silence(['agent=a'])];
    expect(found({ silences })).toMatchObject({ kind: 'silenced', by: 'silence-1' });
    expect(found({ silences, nowMs: NOW - 1 })).toBeUndefined();
    expect(found({ silences, nowMs: NOW + 60_000 })).toBeUndefined();
    expect(found({ silences: [silence(['agent=b'])] })).toBeUndefined();
  });

  it('by another alert needs equal labels that both have', () => {
    const critical = (labels: object) => [anAlert({ severity: 'critical', ...labels }, 'critical')];
    expect(found({ firing: critical({ agent: 'a', team: 't' }) })).toEqual({ kind: 'inhibited', by: 'critical' });
    expect(found({ firing: critical({ agent: 'a', team: 'u' }) })).toBeUndefined();
    const bare = anAlert({ severity: 'warn', agent: 'a' }, 'bare');
    const firing = critical({ agent: 'a' });
    expect(findSuppression(bare, { mute: [] }, state({ firing }))).toBeUndefined();
  });

  it('never comes from the alert itself, or from one that would inhibit it in turn', () => {
    const mutual = aTree({
      routes: [{ id: 'all', channels: [] }],
      inhibit: [{ source: ['agent=a'], target: ['agent=a'] }],
    });
    const firing = [warn, anAlert({ agent: 'a' }, 'other')];
    expect(found({ tree: mutual, firing: [warn] })).toBeUndefined();
    expect(found({ tree: mutual, firing })).toBeUndefined();
  });
});

describe('matchers that cover everything', () => {
  it.each([
    [['agent=~.*'], true],
    [['agent!=billing'], false],
    [['agent=~.+'], false],
    [['agent=~.*', 'severity=warn'], false],
  ])('%j: %s', (texts, expected) => expect(matchesEverything(parseMatchers(texts).matchers)).toBe(expected));
});

describe('the explanation', () => {
  const tree = aTree({
    routes: [
      { id: 'all', channels: ['ops'], groupBy: ['agent'] },
      { id: 'crit', under: 'all', match: ['severity=critical'], channels: ['pager'], mute: ['noon'] },
      { id: 'late', under: 'all', match: ['kind=rule'], channels: ['log'] },
    ],
    windows: { noon: { from: '11:00', to: '13:00' } },
  });
  const explain = (labels: object, fields: Partial<SuppressionState> = {}) =>
    Object.fromEntries(
      explainRouting(anAlert(labels), ['ops', 'pager', 'log', 'spare'], {
        ...{ tree, silences: [], firing: [], nowMs: NOW, ...fields },
      }).map((answer) => [answer.channel, answer]),
    );

  it('names the route of each channel that is notified, and the matcher that kept the others out', () => {
    const answers = explain({ severity: 'warn', agent: 'a', kind: 'spend' });
    expect(answers.ops).toMatchObject({
      notified: true,
      route: 'all',
      group: { agent: 'a' },
      groupWait: '30s',
      repeat: '4h',
    });
    expect(answers.pager).toMatchObject({
      notified: false,
      because: expect.stringContaining('severity=critical does not match: severity is "warn"'),
    });
    expect(answers.spare?.because).toBe('No route leads here');
  });

  it('names the route that took the alert first', () => {
    expect(explain({ severity: 'critical', kind: 'rule' }).log?.because).toContain('"crit" took the alert first');
  });

  it('names what suppresses the alert, and suppresses no approval', () => {
    expect(explain({ severity: 'critical' }).pager).toMatchObject({
      notified: false,
      suppressed: { kind: 'muted', by: 'noon' },
    });
    const silences = [silence(['kind=approval'])];
    expect(explain({ kind: 'approval', severity: 'critical' }, { silences }).pager).toMatchObject({ notified: true });
    expect(explain({ kind: 'rule' }, { silences: [silence(['kind=rule'])] }).log?.because).toContain(
      'silenced by "silence-1" until',
    );
  });
});
