import { describe, expect, it } from '@jest/globals';
import { LineSpeed } from './fair-turns.ts';

/** Starts this many events every 10 ms for a second. */
function move(speed: LineSpeed, events: number, waiting: number): number {
  for (let nowMs = 0; nowMs <= 1_000; nowMs += 10) speed.begun(events, waiting, nowMs);
  return speed.perSecond;
}

describe('LineSpeed', () => {
  it('learns from what starts while events wait, slow or fast', () => {
    for (const perTurn of [10, 400]) {
      const learnt = move(new LineSpeed(), perTurn, 5_000);
      expect(Math.abs(learnt - perTurn * 100)).toBeLessThan(Math.abs(10_000 - perTurn * 100) / 10);
    }
  });

  it('learns nothing while no events wait, however few arrive', () => {
    expect(move(new LineSpeed(), 1, 0)).toBe(10_000);
  });

  it('does not count the time in which no events waited', () => {
    const speed = new LineSpeed();
    move(speed, 50, 5_000);
    const before = speed.perSecond;
    speed.begun(100, 0, 1_010);
    speed.begun(100, 5_000, 60_000);
    for (let nowMs = 60_010; nowMs <= 61_000; nowMs += 10) speed.begun(50, 5_000, nowMs);
    expect(speed.perSecond).toBeGreaterThan(before * 0.9);
  });
});
