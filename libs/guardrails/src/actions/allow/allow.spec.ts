import { describe, expect, it } from '@jest/globals';
import { allow } from './allow.ts';

describe('allow', () => {
  it('has the effect allow', () => expect(allow.effect({}, {})).toEqual({ kind: 'allow' }));
});
