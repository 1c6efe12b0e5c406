import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { dueAfterChange, endGroup, flushGroup, type GroupMember, type GroupState } from './flush.ts';

const TIMING = { groupIntervalMs: 300, repeatMs: 1_000 };
const EMPTY: GroupState = { notBeforeMs: 100, lastSentAtMs: null, shown: [] };
const SILENCED = { kind: 'silenced', by: 's' } as const;
const burning = (alertId: string, suppressed?: GroupMember['suppressed']): GroupMember => ({
  ...{ alertId, firing: true, suppressed },
});

describe('a flush', () => {
  it('waits for the group', () => {
    expect(flushGroup(EMPTY, [burning('a')], TIMING, 99)).toEqual({ group: EMPTY, dueAtMs: 100 });
  });

  it('sends all alerts of the group at first, then those that are new, and repeats', () => {
    const first = flushGroup(EMPTY, [burning('a'), burning('b')], TIMING, 100);
    expect(first).toMatchObject({ send: { reason: 'first', firing: ['a', 'b'], ended: [] }, dueAtMs: 400 });
    const next = flushGroup(first.group, [burning('a'), burning('b'), burning('c')], TIMING, 400);
    expect(next.send).toMatchObject({ reason: 'new', firing: ['a', 'b', 'c'], added: ['c'] });
    expect(flushGroup(next.group, [burning('a'), burning('b'), burning('c')], TIMING, 1_399).send).toBeUndefined();
    expect(flushGroup(next.group, [burning('a'), burning('b'), burning('c')], TIMING, 1_400).send?.reason).toBe(
      'repeat',
    );
  });

  it('never repeats if the route says so', () => {
    const { group } = flushGroup(EMPTY, [burning('a')], TIMING, 100);
    expect(flushGroup(group, [burning('a')], { ...TIMING, repeatMs: null }, 1e12).send).toBeUndefined();
  });

  it('shows the end of an alert that was silenced after it was shown, and does not repeat it', () => {
    const { group } = flushGroup(EMPTY, [burning('a')], TIMING, 100);
    const silent = flushGroup(group, [burning('a', SILENCED)], TIMING, 5_000);
    expect(silent).toEqual({ group, dueAtMs: 5_300 });
    expect(flushGroup(group, [], TIMING, 5_300)).toMatchObject({
      send: { reason: 'resolved', ended: ['a'] },
      dueAtMs: null,
    });
  });

  it('does not show the end of an alert that was never shown', () => {
    expect(flushGroup(EMPTY, [burning('a', SILENCED)], TIMING, 100).send).toBeUndefined();
    expect(flushGroup(EMPTY, [], TIMING, 400)).toEqual({ group: EMPTY, dueAtMs: null });
  });

  it('ends what it has shown when its route is gone', () => {
    const { group } = flushGroup(EMPTY, [burning('a')], TIMING, 100);
    expect(endGroup(group, 500)).toMatchObject({ send: { reason: 'rerouted', ended: ['a'] }, group: { shown: [] } });
    expect(endGroup(EMPTY, 500).send).toBeUndefined();
  });

  it('is due when the wait and the interval are over', () => {
    expect(dueAfterChange(EMPTY, TIMING, 50)).toBe(100);
    expect(dueAfterChange({ notBeforeMs: 100, lastSentAtMs: 400 }, TIMING, 500)).toBe(700);
    expect(dueAfterChange({ notBeforeMs: 100, lastSentAtMs: 400 }, TIMING, 900)).toBe(900);
  });

  it('shows each alert as firing and then as ended, once and in order in any trace', () => {
    const step = fc.record({
      forMs: fc.integer({ min: 1, max: 700 }),
      alert: fc.integer({ min: 0, max: 3 }),
      does: fc.constantFrom('begin', 'end', 'silence', 'speak'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const alerts = new Map<string, { firing: boolean; silent: boolean }>();
        let group = EMPTY;
        let now = 0;
        let episodes = 0;
        const told = new Map<string, 'firing' | 'ended'>();
        const look = () => {
          const members = [...alerts].map(([alertId, { firing, silent }]) => ({
            ...{ alertId, firing, suppressed: silent ? SILENCED : undefined },
          }));
          const before = group;
          const { send, group: after } = flushGroup(group, members, TIMING, now);
          group = after;
          if (send === undefined) return;
          expect(now).toBeGreaterThanOrEqual(EMPTY.notBeforeMs);
          if (send.reason === 'repeat') expect(now - (before.lastSentAtMs ?? 0)).toBeGreaterThanOrEqual(1_000);
          for (const id of send.firing) expect(alerts.get(id)).toMatchObject({ firing: true, silent: false });
          for (const id of send.firing) expect(told.get(id)).not.toBe('ended');
          for (const id of send.added) expect(told.has(id)).toBe(false);
          for (const id of send.firing) told.set(id, 'firing');
          for (const id of send.ended) expect(told.get(id)).toBe('firing');
          for (const id of send.ended) told.set(id, 'ended');
        };
        const current: string[] = ['', '', '', ''];
        for (const { forMs, alert, does } of steps) {
          now += forMs;
          const open = alerts.get(current[alert] ?? '');
          if (does === 'begin' && open?.firing !== true) {
            current[alert] = `episode-${episodes++}`;
            alerts.set(current[alert] ?? '', { firing: true, silent: false });
          } else if (does === 'end' && open !== undefined) open.firing = false;
          else if (open !== undefined) open.silent = does === 'silence';
          look();
        }
        for (const one of alerts.values()) one.firing = false;
        now += 1_000;
        look();
        expect([...told.values()].filter((state) => state === 'firing')).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});
