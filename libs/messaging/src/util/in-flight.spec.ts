import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BackgroundWork, InFlight, type InFlightSlot } from './in-flight.ts';

describe('InFlight', () => {
  it('behaves like a set under any sequence of operations, oldest first', () => {
    const steps = fc.array(fc.oneof(fc.constant('add'), fc.nat({ max: 20 })), { maxLength: 80 });
    fc.assert(
      fc.property(steps, (taken) => {
        const [list, model] = [new InFlight<number>(), new Set<number>()];
        const places: InFlightSlot<number>[] = [];
        for (const [n, step] of taken.entries()) {
          const place = typeof step === 'number' ? places[step % Math.max(1, places.length)] : undefined;
          if (step === 'add') {
            places.push(list.add(n));
            model.add(n);
          } else if (place !== undefined) {
            expect(list.delete(place)).toBe(model.delete(place.item));
          }
          expect([[...list], list.size, list.oldest]).toEqual([[...model], model.size, [...model][0]]);
        }
      }),
    );
  });

  it('iterates over a snapshot while it changes', () => {
    const list = new InFlight<string>();
    const places = ['a', 'b', 'c'].map((item) => list.add(item));
    const seen: string[] = [];
    for (const item of list) {
      seen.push(item);
      for (const place of places) list.delete(place);
      list.add('late');
    }
    expect(seen).toEqual(['a', 'b', 'c']);
  });
});

describe('InFlight memory', () => {
  const collect = exposedCollector();
  const large = () => Array.from({ length: 200 }, (_, at) => ({ at }));

  /** Growth of the heap in bytes after many items came and went with only minor collections. */
  function kept(passThrough: (item: object) => void): number {
    for (let n = 0; n < 40; n++) passThrough(large());
    collect({ type: 'major' });
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 2_000; n++) {
      passThrough(large());
      if (n % 20 === 0) collect({ type: 'minor' });
    }
    for (const _ of [1, 2, 3]) collect({ type: 'minor' });
    return process.memoryUsage().heapUsed - before;
  }

  it('frees deleted items in the next minor collections', () => {
    const list = new InFlight<object>();
    const places: InFlightSlot<object>[] = [];
    const bytes = kept((item) => {
      places.push(list.add(item));
      const leaving = places.length > 8 ? places.shift() : undefined;
      if (leaving !== undefined) list.delete(leaving);
    });
    expect(bytes).toBeLessThan(3_000_000);
  });

  it('needs its own list, because a Set keeps deleted items until a full collection', () => {
    const set = new Set<object>();
    const bytes = kept((item) => {
      set.add(item);
      const [oldest] = set;
      if (set.size > 8 && oldest !== undefined) set.delete(oldest);
    });
    expect(bytes).toBeGreaterThan(5_000_000);
  });
});

function exposedCollector(): (options: { type: 'major' | 'minor' }) => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as (options: { type: 'major' | 'minor' }) => void;
}

describe('background work', () => {
  it('waits until all work has settled, even if some fails', async () => {
    const work = new BackgroundWork();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    for (const { promise } of [first, second]) work.add(promise);
    let hasEnded = false;
    const ended = work.ended().then(() => {
      hasEnded = true;
    });
    first.reject(new Error('failed'));
    await first.promise.catch(() => undefined);
    await Promise.resolve();
    expect([work.size, hasEnded]).toEqual([1, false]);
    second.resolve();
    await ended;
    expect(work.size).toBe(0);
  });

  it('has nothing to wait for when empty', async () => {
    await expect(new BackgroundWork().ended()).resolves.toBeUndefined();
  });
});
