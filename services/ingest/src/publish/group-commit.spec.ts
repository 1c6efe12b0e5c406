import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { GroupCommit } from './group-commit.ts';
import { ManualTimer } from './manual-timer.testing.ts';

describe('group commit', () => {
  let timer: ManualTimer;
  let arrivals: PromiseWithResolvers<void>[];
  let commit: GroupCommit;

  beforeEach(() => {
    timer = new ManualTimer();
    arrivals = [];
    commit = new GroupCommit(() => {
      const arrival = Promise.withResolvers<void>();
      arrivals.push(arrival);
      return arrival.promise;
    }, timer);
  });

  async function arrive(): Promise<void> {
    arrivals.at(-1)?.resolve();
    await turn();
  }

  it('commits at once after a quiet period, with everything that arrived in that turn', () => {
    commit.request();
    commit.request();
    expect(arrivals).toHaveLength(0);
    timer.pass(0);
    expect(arrivals).toHaveLength(1);
  });

  it('keeps commits apart under load, however fast the broker acknowledges', async () => {
    commit.request();
    timer.pass(0);
    await arrive();
    commit.request();
    timer.pass(4);
    expect(arrivals).toHaveLength(1);
    timer.pass(1);
    expect(arrivals).toHaveLength(2);
  });

  it('waits for the acknowledgement of the previous commit', async () => {
    commit.request();
    timer.pass(0);
    commit.request();
    timer.pass(20);
    expect(arrivals).toHaveLength(1);
    await arrive();
    timer.pass(0);
    expect(arrivals).toHaveLength(2);
  });

  it('waits at most 25 ms for it', () => {
    commit.request();
    timer.pass(0);
    commit.request();
    timer.pass(25);
    expect(arrivals).toHaveLength(2);
  });

  it('does not commit again if nothing was requested since', async () => {
    commit.request();
    timer.pass(0);
    await arrive();
    timer.pass(100);
    expect(arrivals).toHaveLength(1);
  });

  it('can commit at once instead of at the planned time', () => {
    commit.request();
    commit.commit();
    timer.pass(100);
    expect(arrivals).toHaveLength(1);
    expect(timer.waiting).toBe(0);
  });
});
