import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { batchPieces, parseBatch } from './batch-pieces.ts';
import { bodyOf, deceptiveEvents, event } from './written-event.testing.ts';

const sizes = fc.integer({ min: 1, max: 2_000 });

describe('pieces of a batch', () => {
  it('join to the text of the batch and are as long as allowed', () => {
    fc.assert(
      fc.property(deceptiveEvents, sizes, (events, most) => {
        const body = bodyOf(events);
        const pieces = batchPieces(body, most);
        expect(pieces.join(',')).toBe(body.toString('utf8'));
        // Two consecutive pieces together exceed the limit.
        pieces.slice(1).forEach((piece, at) => {
          expect(Buffer.byteLength(`${pieces[at]},${piece}`)).toBeGreaterThan(most);
        });
      }),
    );
  });

  it('are a single piece if the text is short or in another format', () => {
    const body = bodyOf([event, event, event]);
    expect(batchPieces(body)).toHaveLength(1);
    expect(batchPieces(body, 1)).toHaveLength(3);
    const spaced = Buffer.from(JSON.stringify(JSON.parse(body.toString('utf8')), null, 1));
    expect(batchPieces(spaced, 1)).toHaveLength(1);
  });
});

describe('a batch parsed in pieces', () => {
  it('equals JSON.parse for any contents', () => {
    fc.assert(
      fc.property(deceptiveEvents, sizes, (events, most) => {
        const body = bodyOf(events);
        expect(parseBatch(body, most)).toEqual(JSON.parse(body.toString('utf8')));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['no list of events', '{"events":{"a":{"b":{}},{"id":1}}'],
    ['a missing end', bodyOf([event, event, event]).toString('utf8').slice(0, -1)],
    ['trailing text', `${bodyOf([event, event, event]).toString('utf8')}1`],
  ])('is rejected if it has %s', (_what, text) => {
    expect(() => parseBatch(Buffer.from(text), 1)).toThrow(SyntaxError);
  });
});
