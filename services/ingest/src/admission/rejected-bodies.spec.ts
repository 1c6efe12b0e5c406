import { describe, expect, it } from '@jest/globals';
import { RejectedBodies } from './quotas.ts';

describe('RejectedBodies', () => {
  it('rejects a key that sent too many rejected bytes until it has waited', () => {
    let nowMs = 0;
    const bodies = new RejectedBodies(() => nowMs);
    bodies.charge('one', 15_000_000);
    expect(() => bodies.refuseIfUsedUp('one')).not.toThrow();
    bodies.charge('one', 15_000_000);
    expect(() => bodies.refuseIfUsedUp('one')).toThrow(expect.objectContaining({ headers: { 'retry-after': '1' } }));
    expect(() => bodies.refuseIfUsedUp('other')).not.toThrow();
    nowMs = 1_001;
    expect(() => bodies.refuseIfUsedUp('one')).not.toThrow();
  });
});
