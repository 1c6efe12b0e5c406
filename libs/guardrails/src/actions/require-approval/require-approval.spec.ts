import { describe, expect, it } from '@jest/globals';
import { requireApproval } from './require-approval.ts';

describe('require_approval', () => {
  it('asks for approval, with a default expiry of 15 minutes', () => {
    expect(requireApproval.effect(requireApproval.config.parse({}), {})).toEqual({
      kind: 'ask',
      expiresInSeconds: 900,
    });
    expect(requireApproval.effect({ title: 'Pay?', expiresInSeconds: 5 }, {})).toMatchObject({ title: 'Pay?' });
  });

  it.each([0, 604_801, 1.5])('rejects an expiry of %s seconds', (expiresInSeconds) => {
    expect(requireApproval.config.safeParse({ expiresInSeconds }).success).toBe(false);
  });
});
