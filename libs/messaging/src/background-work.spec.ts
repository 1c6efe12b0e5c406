import { describe, expect, it } from '@jest/globals';
import { BackgroundWork } from './background-work.ts';

describe('background work', () => {
  it('is waited for until all of it has ended, failed or not', async () => {
    const work = new BackgroundWork();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    for (const { promise } of [first, second]) work.add(promise);
    let hasEnded = false;
    const ended = work.ended().then(() => {
      hasEnded = true;
    });
    first.reject(new Error('its own affair'));
    await first.promise.catch(() => undefined);
    await Promise.resolve();
    expect([work.size, hasEnded]).toEqual([1, false]);
    second.resolve();
    await ended;
    expect(work.size).toBe(0);
  });

  it('has ended where there is none', async () => {
    await expect(new BackgroundWork().ended()).resolves.toBeUndefined();
  });
});
