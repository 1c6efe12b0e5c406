import { describe, expect, it } from '@jest/globals';
import { HealthRegistry } from './health-registry.ts';

describe('health registry', () => {
  it('is ready when every check is', async () => {
    const health = new HealthRegistry();
    health.add('store', async () => ({ ok: true, detail: { oldestMs: 12 } }));
    expect(await health.report()).toEqual({ ready: true, checks: { store: { ok: true, detail: { oldestMs: 12 } } } });
  });

  it('is not ready when one check fails or throws, and says why', async () => {
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

  it('keeps checks of one name apart', async () => {
    const health = new HealthRegistry();
    health.add('lag', async () => ({ ok: true }));
    health.add('lag', async () => ({ ok: false }));
    expect(await health.report()).toMatchObject({
      ready: false,
      checks: { lag: { ok: true }, 'lag-2': { ok: false } },
    });
  });

  it('is not ready from the moment it drains, and tells listeners once', async () => {
    const health = new HealthRegistry();
    let told = 0;
    health.onDrain(() => told++);
    health.drain();
    health.drain();
    expect(told).toBe(1);
    expect((await health.report()).ready).toBe(false);
  });
});
