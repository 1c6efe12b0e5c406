import { describe, expect, it } from '@jest/globals';
import { SingleFlight } from './single-flight.ts';

describe('a single flight', () => {
  it('runs work once for concurrent callers of a key, and again for a later caller', async () => {
    const flight = new SingleFlight<number>();
    let runs = 0;
    const work = async () => ++runs;
    const asked = [flight.run('a', work), flight.run('a', work), flight.run('b', work)];
    expect(await Promise.all(asked)).toEqual([1, 1, 2]);
    expect(await flight.run('a', work)).toBe(3);
  });

  it('fails for all waiting callers, and not for a later one', async () => {
    const flight = new SingleFlight<string>();
    const failing = async () => {
      throw new Error('away');
    };
    const answers = await Promise.allSettled([flight.run('a', failing), flight.run('a', async () => 'unused')]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await flight.run('a', async () => 'back')).toBe('back');
  });
});
