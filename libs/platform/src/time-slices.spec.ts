import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mapInSlices, runInSlices } from './time-slices.ts';

const work = (item: number, index: number) => item * 2 + index;

/** A step that takes longer than a slice. */
function holdTheLoop(): void {
  const startedAt = performance.now();
  while (performance.now() - startedAt < 3);
}

function* heavySteps(count: number, onStep: () => void): Generator<void, string> {
  for (let step = 0; step < count; step++) {
    holdTheLoop();
    onStep();
    yield;
  }
  return 'done';
}

describe('mapInSlices', () => {
  it('returns the same as map', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer(), { maxLength: 350 }), async (items) => {
        expect(await mapInSlices(items, work)).toEqual(items.map(work));
      }),
      { numRuns: 25 },
    );
  });

  it('processes a few items synchronously', () => {
    const done: number[] = [];
    void mapInSlices([1, 2, 3], (item) => done.push(item));
    expect(done).toEqual([1, 2, 3]);
  });

  it('rejects if the work throws', async () => {
    const items = Array.from({ length: 250 }, (_, index) => index);
    const failing = mapInSlices(items, (item) => {
      if (item === 200) throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
  });
});

describe('runInSlices', () => {
  it('returns to the event loop after each slice', async () => {
    const order: string[] = [];
    const heavy = runInSlices(heavySteps(5, () => order.push('step')));
    await nextTurn();
    order.push('other');
    expect(await heavy).toBe('done');
    expect(order.indexOf('other')).toBeLessThan(3);
  });

  it('runs one of several heavy requests per turn', async () => {
    let turn = 0;
    const turns: number[] = [];
    const all = Promise.all(Array.from({ length: 3 }, () => runInSlices(heavySteps(4, () => turns.push(turn)))));
    let isRunning = true;
    void all.then(() => {
      isRunning = false;
    });
    while (isRunning) {
      await nextTurn();
      turn += 1;
    }
    const inLaterTurns = turns.filter((one) => one > 0);
    expect(new Set(inLaterTurns).size).toBe(inLaterTurns.length);
  });
});
