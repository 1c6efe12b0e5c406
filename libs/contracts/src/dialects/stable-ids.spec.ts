import { describe, expect, it } from '@jest/globals';
import { derivedId } from '../new-ids.ts';
import { timeOfId } from './stable-ids.ts';

describe('the time inside an id', () => {
  it('is read from a UUIDv7', () => {
    const at = Date.parse('2026-03-01T12:00:00.123Z');
    expect(timeOfId(derivedId(at, 'x'))).toBe(at);
    expect(timeOfId(derivedId(at, 'x').toUpperCase())).toBe(at);
  });

  it('is read from a ULID', () => {
    expect(timeOfId('01ARYZ6S41TSV4RRFFQ69G5FAV')).toBe(1_469_918_176_385);
    expect(timeOfId('01aryz6s41tsv4rrffq69g5fav')).toBe(1_469_918_176_385);
  });

  it.each(['', 'call-7', '9f1c2a44-0000-4000-8000-000000000000', '81ARYZ6S41TSV4RRFFQ69G5FAV', 'I'.repeat(26)])(
    'is absent from %p',
    (id) => {
      expect(timeOfId(id)).toBeUndefined();
    },
  );
});
