import { expect, it } from '@jest/globals';
import { ByDestination } from './by-destination.ts';

it('forgets what was noted longest ago once there is too much', () => {
  const known = new ByDestination<number>();
  const to = (n: number) => ({ tenantId: 'acme', id: `hook-${n}` });
  for (let n = 0; n < 10_000; n++) known.set(to(n), n);
  known.set(to(0), 0);
  known.set(to(10_000), 10_000);
  expect([known.get(to(0)), known.get(to(1)), known.get(to(2))]).toEqual([0, undefined, 2]);
  expect([...known.values()]).toHaveLength(10_000);
});
