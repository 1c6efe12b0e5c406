import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeCursor, encodeCursor } from './parameters.ts';

const position = { at: '2026-11-21T10:00:00.000Z', id: 'crew/role 😀' };

describe('cursor', () => {
  it('returns the position it was created from', () => {
    expect(decodeCursor('events', encodeCursor('events', position))).toEqual(position);
  });

  it('is rejected by another list', () => {
    expect(decodeCursor('rules', encodeCursor('events', position))).toBeNull();
  });

  it('rejects any other text without throwing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(decodeCursor('events', text)).toBeNull();
      }),
    );
  });

  it('rejects values that the database cannot compare with', () => {
    for (const wrong of [
      { at: 'yesterday', id: 'a' },
      { at: position.at, id: 'a\u0000' },
      { at: position.at, id: '' },
    ]) {
      expect(decodeCursor('events', encodeCursor('events', wrong))).toBeNull();
    }
  });
});
