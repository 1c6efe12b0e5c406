import { Redis } from 'ioredis';
import type { Primitive } from './primitive.ts';
import { callTimes } from './sample.ts';

/** The smallest Redis command that writes. */
export async function measureRedis(url: string, milliseconds: number): Promise<readonly Primitive[]> {
  const redis = new Redis(url);
  try {
    let serial = 0;
    const { middle } = await callTimes(milliseconds, () => redis.set(`bench:${serial++}`, '1', 'PX', 10_000, 'NX'));
    return [{ name: 'Redis SET NX, one at a time, p50', unit: 'ms', here: middle, there: 0.059 }];
  } finally {
    redis.disconnect();
  }
}
