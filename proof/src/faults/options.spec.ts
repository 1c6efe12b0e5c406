import { describe, expect, it } from '@jest/globals';
import { parseOptions } from './options.ts';

describe('options of the fault suite', () => {
  it('default to the short set', () => {
    expect(parseOptions([])).toMatchObject({ only: [], all: false, smoke: true, minutes: 3, reports: 'reports' });
    expect(parseOptions(['--smoke']).smoke).toBe(true);
  });

  it('run named faults and --all in full', () => {
    expect(parseOptions(['--only', 'F-01,F-12'])).toMatchObject({ only: ['F-01', 'F-12'], smoke: false });
    expect(parseOptions(['--all'])).toMatchObject({ all: true, smoke: false });
  });

  it('run named faults in their short form with --smoke', () => {
    expect(parseOptions(['--only', 'F-10', '--smoke'])).toMatchObject({ only: ['F-10'], smoke: true });
  });

  it('accept a seed or generate one', () => {
    expect(parseOptions(['--seed', '4711']).seed).toBe(4711);
    expect(parseOptions([]).seed).toBeGreaterThanOrEqual(0);
    expect(() => parseOptions(['--seed', 'x'])).toThrow('--seed must be a whole number, not "x"');
  });
});
