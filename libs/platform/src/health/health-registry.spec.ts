import { describe, expect, it } from '@jest/globals';
import { HealthRegistry } from './health-registry.ts';
import { LoopProgress } from './loop-progress.ts';

describe('health registry', () => {
  it('is ready if every check succeeds', async () => {
    const health = new HealthRegistry();
    health.add('store', async () => ({ ok: true, detail: { oldestMs: 12 } }));
    expect(await health.report()).toEqual({ ready: true, checks: { store: { ok: true, detail: { oldestMs: 12 } } } });
  });

  it('is not ready if one check fails or throws, with the reason', async () => {
    const health = new HealthRegistry();
    health.add('good', async () => ({ ok: true }));
    health.add('bad', async () => {
      throw new Error('no progress');
    });
    expect(await health.report()).toEqual({
      ready: false,
      checks: { good: { ok: true }, bad: { ok: false, detail: { reason: 'no progress' } } },
    });
  });

  it('is not ready while a loop that has work gets none of it done for 30 s', async () => {
    let nowMs = 0;
    const health = new HealthRegistry();
    const loop = health.watchLoop('ended-calls', new LoopProgress(() => nowMs));
    health.watchLoop('outbox', new LoopProgress(() => nowMs));
    await expect(loop.attempt(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
    nowMs = 29_999;
    expect((await health.report()).ready).toBe(true);
    nowMs = 30_000;
    expect(await health.report()).toEqual({
      ready: false,
      checks: { loops: { ok: false, detail: { 'ended-calls': { idleMs: 30_000 } } } },
    });
    await loop.attempt(() => Promise.resolve());
    expect((await health.report()).ready).toBe(true);
  });

  it('notices an attempt that never ends', async () => {
    let nowMs = 0;
    const health = new HealthRegistry();
    const loop = health.watchLoop('ledger', new LoopProgress(() => nowMs));
    void loop.attempt(() => new Promise(() => undefined));
    nowMs = 30_000;
    expect((await health.report()).ready).toBe(false);
  });

  it('separates checks with the same name', async () => {
    const health = new HealthRegistry();
    health.add('lag', async () => ({ ok: true }));
    health.add('lag', async () => ({ ok: false }));
    expect(await health.report()).toMatchObject({
      ready: false,
      checks: { lag: { ok: true }, 'lag-2': { ok: false } },
    });
  });

  it('is not ready as soon as it drains, and notifies listeners once', async () => {
    const health = new HealthRegistry();
    let notified = 0;
    health.onDrain(() => notified++);
    health.drain();
    health.drain();
    expect(notified).toBe(1);
    expect((await health.report()).ready).toBe(false);
  });
});
