import { describe, expect, it } from '@jest/globals';
import { accountOfLoss, type StatusLook } from './lost-windows.ts';

const T0 = Date.parse('2026-03-01T12:00:00.000Z');
const LOST_MS = T0 + 1_000;
const HOUR_MS = 60 * 60_000;
const DEGRADED_REASON = `window degraded until ${new Date(LOST_MS + HOUR_MS).toISOString()}: what happened before was lost`;

/** Milliseconds since the start, the value of one agent, and whether it is marked as degraded. */
function looks(...list: readonly (readonly [atMs: number, value: number, marked?: true])[]): StatusLook[] {
  return list.map(([atMs, value, marked]) => ({
    atMs: T0 + atMs,
    agents: [{ agentId: 'a', value, ...(marked === undefined ? {} : { degradedReason: DEGRADED_REASON }) }],
  }));
}

describe('the status after a loss', () => {
  it('is timed from the loss: unmarked low values, marked, whole again', () => {
    const statuses = looks([900, 100], [1_500, 3], [2_000, 9, true], [2_500, 80, true], [3_000, 110]);
    expect(accountOfLoss(statuses, LOST_MS)).toEqual({
      markedMs: 1_000,
      unmarkedMs: 500,
      wholeMs: 2_000,
      longestMs: HOUR_MS - 1_000,
    });
  });

  it('reports nothing if no value was ever low', () => {
    expect(accountOfLoss(looks([900, 100], [1_500, 100], [2_500, 120]), LOST_MS)).toEqual({
      markedMs: undefined,
      unmarkedMs: 0,
      wholeMs: 0,
      longestMs: 0,
    });
  });

  it('has no end while an agent is marked as degraded or has a low value', () => {
    expect(accountOfLoss(looks([900, 100], [1_500, 120], [2_000, 130, true]), LOST_MS).wholeMs).toBeUndefined();
    expect(accountOfLoss(looks([900, 100], [2_000, 99]), LOST_MS).wholeMs).toBeUndefined();
  });
});
