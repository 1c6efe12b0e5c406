import { measureHttp } from '../primitives/http.ts';
import { measureNats } from '../primitives/nats.ts';
import { measurePostgres } from '../primitives/postgres.ts';
import { factor, medianFactor } from '../primitives/primitive.ts';
import { measureRedis } from '../primitives/redis.ts';
import type { Bench, Scenario } from '../scenario.ts';

const MEASUREMENTS = 8;

/**
 * What this machine takes for the things the platform is made of, beside what the machine took that the aims were set
 * on. Whoever compares a figure with an aim multiplies the aim by the factor first.
 */
export const machine: Scenario = {
  name: 'machine',
  title: 'what this machine takes for an HTTP request, a NATS message, a row, beside the one the aims were set on',
  smoke: true,
  async run(bench: Bench) {
    const { stack } = await bench.stage('distributed');
    const { natsUrl, redisUrl, postgresUrl } = stack;
    if (natsUrl === undefined || redisUrl === undefined) throw new Error('the distributed shape has all servers');
    const milliseconds = (bench.seconds * 1000) / MEASUREMENTS;
    const startedAt = performance.now();
    const primitives = [
      ...(await measureHttp(milliseconds)),
      ...(await measureNats(natsUrl, milliseconds)),
      ...(await measureRedis(redisUrl, milliseconds)),
      ...(await measurePostgres(postgresUrl, milliseconds)),
    ];
    bench.found({
      ...{ scenario: 'machine', variant: 'primitives', shape: 'distributed', unit: 'process' },
      ...{ count: primitives.length, seconds: (performance.now() - startedAt) / 1000 },
      ...{ cpuMicros: {}, latency: {}, rssBytes: {}, checks: [] },
      notes: Object.fromEntries([
        ...primitives.map((one) => [
          one.name,
          `${one.here.toPrecision(3)} ${one.unit}, there ${one.there} (x ${factor(one).toFixed(1)})`,
        ]),
        ['middle of the factors', medianFactor(primitives).toFixed(1)],
      ]),
    });
  },
};
