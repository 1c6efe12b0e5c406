import {
  factor,
  measureDisk,
  measureHttp,
  measureNats,
  measurePostgres,
  measureRedis,
  medianFactor,
  type Primitive,
} from '../primitives.ts';
import type { Bench, Scenario } from '../scenario.ts';

const MEASUREMENTS = 9;

/**
 * Measures the basic operations of the platform on this machine, compared with the reference machine of the targets. To
 * compare a figure with a target, multiply the target by the factor first.
 */
export const machine: Scenario = {
  name: 'machine',
  title: 'basic operations on this machine (HTTP request, NATS message, row), compared with the reference machine',
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
    // Not among the factors, because the targets of CPU and rate do not depend on the disk.
    const disk = await measureDisk(milliseconds);
    bench.found({
      ...{ scenario: 'machine', variant: 'primitives', shape: 'distributed', unit: 'process' },
      ...{ count: primitives.length + 1, seconds: (performance.now() - startedAt) / 1000 },
      ...{ cpuMicros: {}, latency: {}, rssBytes: {}, checks: [] },
      notes: Object.fromEntries([
        ...[...primitives, disk].map((one) => [one.name, noteOn(one)]),
        ['middle of the factors', medianFactor(primitives).toFixed(1)],
      ]),
    });
  },
};

function noteOn(primitive: Primitive): string {
  const { here, there, unit, p99 } = primitive;
  const worst = p99 === undefined ? '' : `; p99 ${p99.toPrecision(3)} ${unit}`;
  return `${here.toPrecision(3)} ${unit}, there ${there} (x ${factor(primitive).toFixed(1)})${worst}`;
}
