import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Fifo } from './fifo.ts';

describe('a queue', () => {
  it('behaves like an array under any sequence of operations', () => {
    const steps = fc.array(fc.oneof(fc.constantFrom('push', 'unshift'), fc.nat({ max: 5 })), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (taken) => {
        const [queue, model] = [new Fifo<number>(), [] as number[]];
        for (const [n, step] of taken.entries()) {
          if (typeof step === 'number') {
            expect(queue.take(step)).toEqual(model.splice(0, step));
          } else {
            queue[step](n);
            model[step](n);
          }
          expect([queue.first, queue.length]).toEqual([model[0], model.length]);
        }
      }),
    );
  });
});
