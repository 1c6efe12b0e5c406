import { describe, expect, it } from '@jest/globals';
import { HealthRegistry } from './health-registry.ts';

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
