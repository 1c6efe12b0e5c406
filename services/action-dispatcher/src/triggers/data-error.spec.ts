import { describe, expect, it } from '@jest/globals';
import { isDataError } from './data-error.ts';

describe('errors that blame the row', () => {
  it.each(['22P02', '22003', '22P05', '23514'])('are known by SQLSTATE %s', (code) => {
    expect(isDataError(Object.assign(new Error('refused'), { code }))).toBe(true);
  });

  it.each(['53100', '40P01', '57P01', '08006', 'ECONNREFUSED', undefined])(
    'are not the database being unwell (%s)',
    (code) => {
      expect(isDataError(Object.assign(new Error('away'), { code }))).toBe(false);
    },
  );
});
