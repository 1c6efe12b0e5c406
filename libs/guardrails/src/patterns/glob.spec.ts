import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { globMatches } from './glob.ts';

/** Reference implementation of a glob, exponential in the worst case. */
function naive(glob: string, text: string): boolean {
  if (glob === '') return text === '';
  if (glob[0] === '*') return naive(glob.slice(1), text) || (text !== '' && naive(glob, text.slice(1)));
  return text !== '' && glob[0] === text[0] && naive(glob.slice(1), text.slice(1));
}

describe('globMatches', () => {
  it('equals the reference implementation', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 });
    const glob = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 });
    fc.assert(fc.property(glob, letters, (g, text) => globMatches(g, text) === naive(g, text)));
  });

  it('matches whole names, ignores case, and has no other special character', () => {
    expect(globMatches('Deploy_*', 'deploy_prod')).toBe(true);
    expect(globMatches('deploy', 'redeploy')).toBe(false);
    expect(globMatches('a?c', 'abc')).toBe(false);
    expect(globMatches('a.c', 'abc')).toBe(false);
  });
});
