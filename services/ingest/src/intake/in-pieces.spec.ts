import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inPieces } from './in-pieces.ts';

const work = (item: number, index: number) => item * 2 + index;

describe('inPieces', () => {
  it('answers what one piece would, whatever the number of items', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer(), { maxLength: 350 }), async (items) => {
        expect(await inPieces(items, work)).toEqual(items.map(work));
      }),
      { numRuns: 25 },
    );
  });

  it('does few items in a row', async () => {
    const done: number[] = [];
    void inPieces([1, 2, 3], (item) => done.push(item));
    expect(done).toEqual([1, 2, 3]);
  });

  it('lets what waits for the thread come in between', async () => {
    const order: string[] = [];
    const many = inPieces(
      Array.from({ length: 1_000 }, (_, i) => i),
      work,
    ).then(() => order.push('many'));
    await nextTurn();
    await inPieces([1], work).then(() => order.push('one'));
    await many;
    expect(order).toEqual(['one', 'many']);
  });

  it('fails where the work does', async () => {
    const items = Array.from({ length: 250 }, (_, i) => i);
    const failing = inPieces(items, (item) => {
      if (item === 200) throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
  });
});
