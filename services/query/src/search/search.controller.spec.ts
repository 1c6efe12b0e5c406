import { describe, expect, it } from '@jest/globals';
import { bytesFrom, timeIn, uuidsFrom } from './search.controller.ts';

describe('ids with a common prefix', () => {
  it.each([
    ['0190ab', '0190ab00-0000-0000-0000-000000000000', '0190abff-ffff-ffff-ffff-ffffffffffff'],
    ['0190ABCD-12', '0190abcd-1200-0000-0000-000000000000', '0190abcd-12ff-ffff-ffff-ffffffffffff'],
    ['0190abcd-', '0190abcd-0000-0000-0000-000000000000', '0190abcd-ffff-ffff-ffff-ffffffffffff'],
  ])('are the UUIDs of %s up to the last one', (prefix, first, last) => {
    expect(uuidsFrom(prefix)).toEqual({ first, last });
  });

  it.each(['run-10', '0190abcde', '0190abc-', `${'0190abcd-1234-7000-8000-000000000001'}2`])(
    'do not include UUIDs if no UUID starts with %s',
    (prefix) => expect(uuidsFrom(prefix)).toBeNull(),
  );

  it('form a byte range', () => {
    const { first, last } = bytesFrom('run-1');
    const inBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
    for (const id of ['run-1', 'run-10', 'run-1é', 'run-1\u{1f600}']) {
      expect([inBytes(first, id) <= 0, inBytes(id, last) < 0]).toEqual([true, true]);
    }
    expect(inBytes('run-2', last)).toBe(1);
  });

  it('contain the time of a version 7 UUID', () => {
    expect(new Date(timeIn('019cab0c-2e00-7000-8000-000000000000')).toISOString()).toMatch(/^2026-03-/);
  });
});
