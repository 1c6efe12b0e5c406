import { describe, expect, it } from '@jest/globals';
import { parseOptions } from './options.ts';

describe('options of the fault suite', () => {
  it('are the short set unless told otherwise', () => {
    expect(parseOptions([])).toMatchObject({ only: [], all: false, smoke: true, minutes: 3, reports: 'reports' });
    expect(parseOptions(['--smoke']).smoke).toBe(true);
  });

  it('try what is named, and everything, in full', () => {
    expect(parseOptions(['--only', 'F-01,F-12'])).toMatchObject({ only: ['F-01', 'F-12'], smoke: false });
    expect(parseOptions(['--all'])).toMatchObject({ all: true, smoke: false });
  });

  it('try what is named in its short form where that is asked for', () => {
    expect(parseOptions(['--only', 'F-10', '--smoke'])).toMatchObject({ only: ['F-10'], smoke: true });
  });

  it('take a seed, or make one', () => {
    expect(parseOptions(['--seed', '4711']).seed).toBe(4711);
    expect(parseOptions([]).seed).toBeGreaterThanOrEqual(0);
    expect(() => parseOptions(['--seed', 'x'])).toThrow('--seed must be a whole number, not "x"');
  });
});
