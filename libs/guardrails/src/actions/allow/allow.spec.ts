import { describe, expect, it } from '@jest/globals';
import { allow } from './allow.ts';

describe('allow', () => {
  it('asks for nothing', () => expect(allow.effect({}, {})).toEqual({ kind: 'allow' }));
});
