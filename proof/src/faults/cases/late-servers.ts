import { usageOf } from '../../harness/process-usage.ts';
import type { ServerName } from '../../harness/stack.ts';
import { atLeast, atMost, holds } from '../check.ts';
import type { Fault } from '../fault.ts';
import { QueueWatch } from '../queue-watch.ts';
import { recovered } from '../recovery.ts';
import type { Site } from '../site.ts';
import { underLoad } from './under-load.ts';

const SERVERS: readonly ServerName[] = ['postgres', 'redis', 'nats'];
const LATENCIES_MS = [200, 2_000];
const MEGABYTE = 1_048_576;
const RSS_LIMIT_MB = 400;
const RSS_EVERY_MS = 500;
/** Enough concurrent clients that queues could fill. */
const LOAD = { eventsPerSecond: 1_000, seconds: 600, batchSize: 10, concurrency: 200 };
/** Minimum number of queues that must be observed. Fewer would mean that they were not found. */
const QUEUES = 15;

const latency: Fault = {
  id: 'F-11',
  title: 'each server responds late: 200 ms, then 2 s',
  async run(lab) {
    const site = await lab.site();
    const memory = watchMemory(site);
    const queues = new QueueWatch(site);
    try {
      await underLoad(lab, site, {
        load: LOAD,
        allowance: { statuses: ['429', '503'] },
        faults: async (load) => {
          for (const server of SERVERS) {
            for (const ms of LATENCIES_MS) {
              for (const link of site.proxies.of(server)) link.mode('latency', ms);
              lab.note(`${server} responds ${ms} ms late for 5 s`);
              await lab.sleep(5_000);
              for (const link of site.proxies.of(server)) link.mode('pass');
              lab.note(`everything works again ${(await recovered(site, load)).toFixed(0)} ms later`);
            }
          }
          load.running.stop();
        },
      });
    } finally {
      for (const server of SERVERS) for (const link of site.proxies.of(server)) link.mode('pass');
      memory.stop();
      queues.stop();
    }
    const depths = await queues.close();
    lab.check(atLeast('queues that were observed', QUEUES, depths.length));
    for (const { queue, size, capacity } of depths) lab.check(atMost(`most in ${queue}`, capacity, size));
    for (const [name, bytes] of memory.most) {
      lab.check(atMost(`memory of ${name}`, RSS_LIMIT_MB, bytes / MEGABYTE, 'MB'));
    }
    lab.check(holds('no process ran out of memory', site.unexpectedExits === 0, String(site.unexpectedExits), '0'));
  },
};

/** Peak memory of each process, bytes. */
function watchMemory(site: Site): { readonly most: ReadonlyMap<string, number>; readonly stop: () => void } {
  const most = new Map<string, number>();
  const timer = setInterval(() => {
    for (const service of site.stack.services) {
      if (!service.running) continue;
      const { rssBytes } = usageOf(service.pid);
      most.set(service.name, Math.max(most.get(service.name) ?? 0, rssBytes));
    }
  }, RSS_EVERY_MS);
  return { most, stop: () => clearInterval(timer) };
}

export const LATE_SERVERS = [latency];
