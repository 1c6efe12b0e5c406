import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { frameId, parsePosition } from './stream.operations.ts';

describe('stream position', () => {
  it('survives encoding as a frame id', () => {
    const position = { batch: 1_763_719_200_000_001, events: 17, trigger: 3 };
    expect(parsePosition(frameId(position))).toEqual(position);
  });

  it.each(['', '1', '1.2', '1.2-', '-1.2-3', '9999999999999999.1-1', '1.2-3\n', '1.2-3 '])('rejects %j', (id) => {
    expect(parsePosition(id)).toBeNull();
  });

  it('parses or rejects any text without throwing', () => {
    fc.assert(
      fc.property(
        fc.string(),
        (text) =>
          parsePosition(text) === null || frameId(parsePosition(text) ?? { batch: 0, events: 0, trigger: 0 }) !== '',
      ),
    );
  });
});
