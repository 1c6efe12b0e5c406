import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Departures } from './departures.ts';
import { ManualMoments } from './manual-moments.testing.ts';

describe('departures', () => {
  let moments: ManualMoments;
  let arrivals: PromiseWithResolvers<void>[];
  let departures: Departures;

  beforeEach(() => {
    moments = new ManualMoments();
    arrivals = [];
    departures = new Departures(() => {
      const arrival = Promise.withResolvers<void>();
      arrivals.push(arrival);
      return arrival.promise;
    }, moments);
  });

  async function arrive(): Promise<void> {
    arrivals.at(-1)?.resolve();
    await turn();
  }

  it('are at once where nothing has left for a while, with all that arrived in that turn', () => {
    departures.ask();
    departures.ask();
    expect(arrivals).toHaveLength(0);
    moments.pass(0);
    expect(arrivals).toHaveLength(1);
  });

  it('are apart while messages go, however fast these arrive', async () => {
    departures.ask();
    moments.pass(0);
    await arrive();
    departures.ask();
    moments.pass(4);
    expect(arrivals).toHaveLength(1);
    moments.pass(1);
    expect(arrivals).toHaveLength(2);
  });

  it('wait for what left before to arrive', async () => {
    departures.ask();
    moments.pass(0);
    departures.ask();
    moments.pass(20);
    expect(arrivals).toHaveLength(1);
    await arrive();
    moments.pass(0);
    expect(arrivals).toHaveLength(2);
  });

  it('wait for it no longer than a moment', () => {
    departures.ask();
    moments.pass(0);
    departures.ask();
    moments.pass(25);
    expect(arrivals).toHaveLength(2);
  });

  it('are not repeated where nothing was asked for since', async () => {
    departures.ask();
    moments.pass(0);
    await arrive();
    moments.pass(100);
    expect(arrivals).toHaveLength(1);
  });

  it('can be now, instead of what was planned', () => {
    departures.ask();
    departures.depart();
    moments.pass(100);
    expect(arrivals).toHaveLength(1);
    expect(moments.waiting).toBe(0);
  });
});
