import { describe, expect, it } from '@jest/globals';
import { isDataError } from './database.ts';

describe('isDataError', () => {
  it.each(['22P02', '22003', '22P05', '23502', '54000', '54001'])('is true for SQLSTATE %s', (code) => {
    expect(isDataError(Object.assign(new Error('refused'), { code }))).toBe(true);
  });

  it('is true for a named check, and false for a partition attached in the meantime', () => {
    const refused = { code: '23514', message: 'refused' };
    expect(isDataError({ ...refused, constraint: 'guardrail_triggers_mode_check' })).toBe(true);
    expect(isDataError(refused)).toBe(false);
  });

  it.each(['53100', '40P01', '57P01', '08006', 'ECONNREFUSED', undefined])(
    'is false for errors of the database itself (%s)',
    (code) => {
      expect(isDataError(Object.assign(new Error('away'), { code }))).toBe(false);
    },
  );
});
