import { describe, expect, it } from '@jest/globals';
import { parseOptions } from './options.ts';

describe('options of the bench', () => {
  it('runs everything for a few seconds each unless told otherwise', () => {
    expect(parseOptions([])).toMatchObject({ only: [], smoke: false, seconds: 6, rows: 1_000_000, against: undefined });
  });

  it('is brief where it smokes', () => expect(parseOptions(['--smoke']).seconds).toBe(4));

  it('takes scenarios by name', () => expect(parseOptions(['--only', 'T1,T2']).only).toEqual(['T1', 'T2']));

  it('takes them bare as well, also both ways at once', () => {
    expect(parseOptions(['decisions', '--seconds', '4'])).toMatchObject({ only: ['decisions'], seconds: 4 });
    expect(parseOptions(['--only', 'T1', 'decisions']).only).toEqual(['T1', 'decisions']);
  });

  it.each(['0', '-1', 'soon', ''])('refuses %j seconds and says which option it was', (seconds) => {
    expect(() => parseOptions([`--seconds=${seconds}`])).toThrow('--seconds must be a number above 0');
  });

  it('refuses what it does not know', () => expect(() => parseOptions(['--fast'])).toThrow('--fast'));
});
