import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EventQueue } from './event-queue.ts';

describe('the queue', () => {
  it('is a bounded list that drops its oldest entries, for any sequence of operations', () => {
    const step = fc.oneof(
      fc.nat(1000).map((add) => ({ add })),
      fc.constant('take' as const),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 }), (capacity, steps) => {
        const queue = new EventQueue<number>(capacity);
        let model: number[] = [];
        let dropped = 0;
        for (const one of steps) {
          if (one === 'take') expect(queue.take()).toBe(model.shift());
          else {
            queue.add(one.add);
            model.push(one.add);
            dropped += Math.max(0, model.length - capacity);
            model = model.slice(-capacity);
          }
          expect([queue.size, queue.dropped]).toEqual([model.length, dropped]);
        }
      }),
    );
  });
});
