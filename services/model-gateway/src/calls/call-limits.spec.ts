import { describe, expect, it } from '@jest/globals';
import { RefusedCall } from '../refused-call.ts';
import { CallLimits } from './call-limits.ts';

const MIB = 1024 * 1024;

describe('the limits of open calls', () => {
  it('hold for a tenant without affecting another one, and end with its calls', () => {
    const limits = new CallLimits();
    const releases = Array.from({ length: 1_000 }, () => limits.take('acme', 0));
    expect(() => limits.take('acme', 0)).toThrow(RefusedCall);
    limits.take('globex', 0).release();
    for (const call of releases) {
      call.release();
      call.release();
    }
    expect(limits.open).toBe(0);
    expect(() => limits.take('acme', 0)).not.toThrow();
  });

  it('hold for the bodies in memory', () => {
    const limits = new CallLimits();
    const call = limits.take('acme', 250 * MIB);
    expect(() => limits.take('acme', 10 * MIB)).toThrow('Too many model calls');
    call.release();
    expect(() => limits.take('acme', 10 * MIB)).not.toThrow();
  });

  it('hold for what a body turns out to have', () => {
    const limits = new CallLimits();
    const calls = Array.from({ length: 8 }, () => limits.take('acme', MIB));
    for (const call of calls) call.hold(32 * MIB);
    const late = limits.take('globex', MIB);
    expect(() => limits.take('acme', MIB)).toThrow('Too many model calls');
    late.hold(32 * MIB);
    for (const call of calls) call.release();
    const again = limits.take('acme', MIB);
    expect(() => again.hold(257 * MIB)).toThrow('Too many model calls');
    again.release();
    limits.take('acme', 256 * MIB);
  });
});
