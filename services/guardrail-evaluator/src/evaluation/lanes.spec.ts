import { describe, expect, it } from '@jest/globals';
import { Lanes } from './lanes.ts';

describe('Lanes', () => {
  it('runs the work of one key in order and of others beside it', async () => {
    const lanes = new Lanes();
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = lanes.run('a', async () => {
      await gate.promise;
      log.push('a1');
    });
    const second = lanes.run('a', async () => log.push('a2'));
    await lanes.run('b', async () => log.push('b'));
    gate.resolve();
    await Promise.all([first, second]);
    expect(log).toEqual(['b', 'a1', 'a2']);
  });

  it('goes on after work that failed, and tells the one who gave it', async () => {
    const lanes = new Lanes();
    const failing = lanes.run('a', () => Promise.reject(new Error('no')));
    const next = lanes.run('a', async () => 'done');
    await expect(failing).rejects.toThrow('no');
    await expect(next).resolves.toBe('done');
  });

  it('forgets keys that have nothing to do', async () => {
    const lanes = new Lanes();
    await lanes.run('a', async () => undefined);
    await new Promise(setImmediate);
    expect(lanes.size).toBe(0);
  });
});
