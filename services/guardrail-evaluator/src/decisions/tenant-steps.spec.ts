import { CALL_STEPS } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import { TenantSteps } from './tenant-steps.ts';

describe('TenantSteps', () => {
  it('bounds each call and all calls of a tenant, regardless of other tenants', () => {
    let nowMs = 0;
    const steps = new TenantSteps(() => nowMs);
    const half = CALL_STEPS / 2;
    expect(steps.ofCall('acme').take(CALL_STEPS + 1)).toBe(false);
    const call = steps.ofCall('acme');
    expect([call.take(half), call.take(half), call.take(1)]).toEqual([true, true, false]);
    expect(steps.ofCall('acme').take(1)).toBe(false);
    expect(steps.ofCall('globex').take(CALL_STEPS)).toBe(true);
    nowMs += 500;
    expect(steps.ofCall('acme').take(1_000_000)).toBe(true);
    expect(steps.ofCall('acme').take(1)).toBe(false);
    nowMs += 3_600_000;
    expect(steps.ofCall('acme').take(CALL_STEPS)).toBe(true);
    expect(steps.ofCall('acme').take(1)).toBe(false);
  });

  it('does not refill when the clock goes backwards', () => {
    let nowMs = 10_000;
    const steps = new TenantSteps(() => nowMs);
    expect(steps.ofCall('acme').take(CALL_STEPS)).toBe(true);
    nowMs = 0;
    expect(steps.ofCall('acme').take(1)).toBe(false);
  });
});
