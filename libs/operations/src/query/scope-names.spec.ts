import { describe, expect, it } from '@jest/globals';
import { ScopeNames } from './control.operations.ts';

describe('scope names', () => {
  it.each([
    [
      ['read', 'ingest'],
      ['ingest', 'read'],
    ],
    [['*'], ['admin']],
    [['manage'], ['admin']],
    [['write'], ['ingest', 'decide']],
    [
      ['write', 'ingest'],
      ['ingest', 'decide'],
    ],
    [['audit'], ['read']],
  ])('%j mean %j', (names, scopes) => {
    expect(ScopeNames.parse(names)).toEqual(scopes);
  });

  it.each([[[]], [['root']], [['__proto__']], ['admin']])('refuse %j', (names) => {
    expect(ScopeNames.safeParse(names).success).toBe(false);
  });
});
