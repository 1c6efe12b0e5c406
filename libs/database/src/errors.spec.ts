import { describe, expect, it } from '@jest/globals';
import { isDataError } from './errors.ts';

describe('errors that blame the row', () => {
  it.each(['22P02', '22003', '22P05', '23502', '54000', '54001'])('are known by SQLSTATE %s', (code) => {
    expect(isDataError(Object.assign(new Error('refused'), { code }))).toBe(true);
  });

  it('are checks that have a name, and not a partition that was attached meanwhile', () => {
    const refused = { code: '23514', message: 'refused' };
    expect(isDataError({ ...refused, constraint: 'guardrail_triggers_mode_check' })).toBe(true);
    expect(isDataError(refused)).toBe(false);
  });

  it.each(['53100', '40P01', '57P01', '08006', 'ECONNREFUSED', undefined])(
    'are not the database being unwell (%s)',
    (code) => {
      expect(isDataError(Object.assign(new Error('away'), { code }))).toBe(false);
    },
  );
});
