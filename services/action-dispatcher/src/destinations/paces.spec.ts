import { beforeEach, describe, expect, it } from '@jest/globals';
import { Paces } from './paces.ts';

const hook = { tenantId: 'acme', id: 'hook' };

describe('the pace of a destination', () => {
  let paces: Paces;
  beforeEach(() => {
    paces = new Paces();
  });
  const quickly = (times: number) => {
    for (let n = 0; n < times; n++) paces.learn(hook, true, 20);
  };

  it('starts at its plain share, and grows with quick answers in a row up to four times that', () => {
    const seen = [paces.of(hook)];
    for (let n = 0; n < 5; n++) {
      quickly(16);
      seen.push(paces.of(hook));
    }
    expect(seen).toEqual([1, 2, 3, 4, 4, 4]);
  });

  it.each([
    ['a failure', false, 20],
    ['a slow answer', true, 500],
  ])('falls back at %s', (_what, accepted, durationMs) => {
    quickly(64);
    paces.learn(hook, accepted, durationMs);
    expect(paces.of(hook)).toBe(1);
  });

  it('is a matter of one tenant and one address', () => {
    quickly(64);
    expect([paces.of({ ...hook, tenantId: 'beta' }), paces.of({ ...hook, id: 'other' })]).toEqual([1, 1]);
  });
});
