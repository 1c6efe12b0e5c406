import { derivedId, timeOrderedId } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { timeInId } from './events.controller.ts';

const at = Date.parse('2026-03-01T12:00:00.123Z');

describe('time in an id', () => {
  it('is read from ids that the platform generates', () => {
    expect(timeInId(timeOrderedId(at))).toBe(at);
    expect(timeInId(derivedId(at, 'batch', 1))).toBe(at);
  });

  it('is read from a ULID in either case', () => {
    expect(timeInId('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe(1_469_922_850_259);
    expect(timeInId('01arz3ndektsv4rrffq69g5fav')).toBe(1_469_922_850_259);
  });

  it.each(['event-1', '', 'f47ac10b-58cc-4372-a567-0e02b2c3d479', '01ARZ3NDEKTSV4RRFFQ69G5FAU!'])(
    'is null for %j',
    (id) => {
      expect(timeInId(id)).toBeNull();
    },
  );
});
