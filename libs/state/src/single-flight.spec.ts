import { describe, expect, it } from '@jest/globals';
import { SingleFlight } from './single-flight.ts';

describe('a single flight', () => {
  it('does work once for all who ask meanwhile, by key, and again for who asks later', async () => {
    const flight = new SingleFlight<number>();
    let runs = 0;
    const work = async () => ++runs;
    const asked = [flight.run('a', work), flight.run('a', work), flight.run('b', work)];
    expect(await Promise.all(asked)).toEqual([1, 1, 2]);
    expect(await flight.run('a', work)).toBe(3);
  });

  it('fails for all who wait, and not for who asks after', async () => {
    const flight = new SingleFlight<string>();
    const failing = async () => {
      throw new Error('away');
    };
    const answers = await Promise.allSettled([flight.run('a', failing), flight.run('a', async () => 'unused')]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await flight.run('a', async () => 'back')).toBe('back');
  });
});
