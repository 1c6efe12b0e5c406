import { describe, expect, it } from '@jest/globals';
import { accountOfLoss, type StatusLook } from './lost-windows.ts';

const T0 = Date.parse('2026-03-01T12:00:00.000Z');
const LOST_MS = T0 + 1_000;
const HOUR_MS = 60 * 60_000;
const TOLD = `window degraded until ${new Date(LOST_MS + HOUR_MS).toISOString()}: what happened before was lost`;

/** Milliseconds since the start, the value of one agent, and whether it is said to be degraded. */
function looks(...list: readonly (readonly [atMs: number, value: number, told?: true])[]): StatusLook[] {
  return list.map(([atMs, value, told]) => ({
    atMs: T0 + atMs,
    agents: [{ agentId: 'a', value, ...(told === undefined ? {} : { degradedReason: TOLD }) }],
  }));
}

describe('what a status said of a loss', () => {
  it('is timed from the loss: too little untold, told, whole again', () => {
    const said = looks([900, 100], [1_500, 3], [2_000, 9, true], [2_500, 80, true], [3_000, 110]);
    expect(accountOfLoss(said, LOST_MS)).toEqual({
      saidMs: 1_000,
      untoldMs: 500,
      wholeMs: 2_000,
      longestMs: HOUR_MS - 1_000,
    });
  });

  it('is nothing where no value was ever less', () => {
    expect(accountOfLoss(looks([900, 100], [1_500, 100], [2_500, 120]), LOST_MS)).toEqual({
      saidMs: undefined,
      untoldMs: 0,
      wholeMs: 0,
      longestMs: 0,
    });
  });

  it('has no end while somebody is said to be degraded, or is shown too little', () => {
    expect(accountOfLoss(looks([900, 100], [1_500, 120], [2_000, 130, true]), LOST_MS).wholeMs).toBeUndefined();
    expect(accountOfLoss(looks([900, 100], [2_000, 99]), LOST_MS).wholeMs).toBeUndefined();
  });
});
