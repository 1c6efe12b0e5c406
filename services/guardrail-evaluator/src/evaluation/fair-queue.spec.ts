import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairQueue } from './fair-queue.ts';

const anyItems = fc.array(
  fc.record({ tenant: fc.constantFrom('a', 'b', 'c'), weight: fc.integer({ min: 1, max: 700 }) }),
);

describe('FairQueue', () => {
  it('hands out every item once, in order for each tenant', () => {
    fc.assert(
      fc.property(anyItems, fc.integer({ min: 1, max: 1_000 }), (items, most) => {
        const queue = new FairQueue<string>();
        for (const [at, { tenant, weight }] of items.entries()) queue.add(tenant, weight, `${tenant}${at}`);
        const taken: string[] = [];
        while (!queue.empty) taken.push(...queue.take(most));
        const of = (tenant: string, names: readonly string[]) => names.filter((name) => name.startsWith(tenant));
        const given = items.map(({ tenant }, at) => `${tenant}${at}`);
        for (const tenant of ['a', 'b', 'c']) expect(of(tenant, taken)).toEqual(of(tenant, given));
        expect(taken).toHaveLength(given.length);
      }),
    );
  });

  it('does not make a tenant wait for the backlog of another', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 100; i++) queue.add('loud', 100, 'loud');
    queue.add('quiet', 1, 'quiet');
    queue.add('third', 40, 'third');
    expect(queue.take(200)).toEqual(expect.arrayContaining(['quiet', 'third']));
  });

  it('gives waiting tenants the same weight, whether in many small items or a few large ones', () => {
    const queue = new FairQueue<readonly [string, number]>();
    for (let i = 0; i < 1_000; i++) queue.add('small', 2, ['small', 2]);
    for (let i = 0; i < 20; i++) queue.add('large', 100, ['large', 100]);
    const taken = Array.from({ length: 10 }, () => queue.take(100)).flat();
    const weight = (of: string) => taken.reduce((sum, [tenant, its]) => sum + (tenant === of ? its : 0), 0);
    expect(Math.abs(weight('small') - weight('large'))).toBeLessThanOrEqual(100);
  });

  it('gives a single tenant the full capacity', () => {
    const queue = new FairQueue<number>();
    for (let i = 0; i < 10; i++) queue.add('only', 100, i);
    expect(queue.take(500)).toEqual([0, 1, 2, 3, 4]);
  });

  it('hands out an item larger than the requested weight', () => {
    const queue = new FairQueue<string>();
    queue.add('a', 5_000, 'huge');
    expect(queue.take(10)).toEqual(['huge']);
    expect(queue.take(10)).toEqual([]);
  });
});
