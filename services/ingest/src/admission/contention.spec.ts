import { describe, expect, it } from '@jest/globals';
import { Contention, type ThreadUse, threadUse } from './restraint.ts';

describe('Contention', () => {
  it('is the ratio of active time to CPU time of a thread since the last reading', () => {
    let use: ThreadUse = { activeMs: 1_000, cpuMs: 900 };
    const contention = new Contention(() => use);
    use = { activeMs: 1_100, cpuMs: 1_000 };
    expect(contention.read()).toBe(1);
    use = { activeMs: 1_400, cpuMs: 1_100 };
    expect(contention.read()).toBe(3);
  });

  it('waits for enough work to judge by', () => {
    let use: ThreadUse = { activeMs: 0, cpuMs: 0 };
    const contention = new Contention(() => use);
    use = { activeMs: 30, cpuMs: 3 };
    expect(contention.read()).toBe(1);
    use = { activeMs: 60, cpuMs: 6 };
    expect(contention.read()).toBe(10);
  });

  it('reads the current thread', () => {
    const before = threadUse();
    let sum = 0;
    while (threadUse().cpuMs - before.cpuMs < 5) sum += Math.sqrt(sum + 1);
    expect(sum).toBeGreaterThan(0);
    expect(threadUse().activeMs).toBeGreaterThanOrEqual(before.activeMs);
  });
});
