import { describe, expect, it } from '@jest/globals';
import { parseOptions } from './options.ts';

describe('options of the bench', () => {
  it('run everything for a few seconds each by default', () => {
    expect(parseOptions([])).toMatchObject({ only: [], smoke: false, seconds: 6, rows: 1_000_000, against: undefined });
  });

  it('are short with --smoke', () => expect(parseOptions(['--smoke']).seconds).toBe(4));

  it('accept scenarios by name', () => expect(parseOptions(['--only', 'T1,T2']).only).toEqual(['T1', 'T2']));

  it('accept bare names, also combined with --only', () => {
    expect(parseOptions(['decisions', '--seconds', '4'])).toMatchObject({ only: ['decisions'], seconds: 4 });
    expect(parseOptions(['--only', 'T1', 'decisions']).only).toEqual(['T1', 'decisions']);
  });

  it.each(['0', '-1', 'soon', ''])('reject %j seconds and name the option', (seconds) => {
    expect(() => parseOptions([`--seconds=${seconds}`])).toThrow('--seconds must be a number above 0');
  });

  it('reject unknown options', () => expect(() => parseOptions(['--fast'])).toThrow('--fast'));
});
