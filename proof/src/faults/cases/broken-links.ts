import { usageOf } from '../../harness/process-usage.ts';
import type { ServerName, ServiceName } from '../../harness/stack.ts';
import { atMost, holds } from '../check.ts';
import type { Fault } from '../fault.ts';
import { answering, recovered, standstill } from '../recovery.ts';
import { underLoad } from './under-load.ts';

const LINKS: readonly (readonly [ServiceName, ServerName])[] = [
  ['run-tracking', 'postgres'],
  ['guardrail-evaluator', 'redis'],
  ['ingest', 'nats'],
  ['run-tracking', 'nats'],
  ['guardrail-evaluator', 'nats'],
  ['action-dispatcher', 'nats'],
  ['ingest', 'redis'],
  ['ingest', 'postgres'],
  ['guardrail-evaluator', 'postgres'],
  ['action-dispatcher', 'postgres'],
  ['run-tracking', 'redis'],
  ['action-dispatcher', 'redis'],
];
/** One link to each server. */
const SMOKE_LINKS = 3;
const TIMES = 3;
const STANDSTILL_MS = 5_000;
/** NATS takes 6 s to find a listener gone that says nothing; a question waits 5 s for its answer. */
const ANSWERING_MS = 15_000;
const MEGABYTE = 1_048_576;
const RSS_LIMIT_MB = 400;

const halfOpen: Fault = {
  id: 'F-10',
  title: 'connections that are dead without a word',
  smoke: true,
  async run(lab) {
    const site = await lab.site();
    const links = lab.smoke ? LINKS.slice(0, SMOKE_LINKS) : LINKS;
    const times = lab.smoke ? 1 : TIMES;
    const slowest: [ServiceName, ServerName, number][] = [];
    await underLoad(lab, site, {
      load: { eventsPerSecond: 1_000, seconds: 900 },
      faults: async (load) => {
        await lab.sleep(1_500);
        for (const [service, server] of links) {
          let longest = 0;
          for (let time = 1; time <= times; time++) {
            site.proxies.halfOpen(server, service);
            longest = Math.max(longest, await standstill(site, load));
            await lab.sleep(lab.between(100, 500));
          }
          lab.note(
            `${service} to ${server} half open ${times} times: nothing went on for ${longest.toFixed(0)} ms at most`,
          );
          slowest.push([service, server, longest]);
          if (service === 'guardrail-evaluator' && server === 'nats') {
            const ms = await answering(site);
            lab.note(`it answers every question again after ${ms.toFixed(0)} ms`);
            lab.within('until every question is answered again', ANSWERING_MS, ms);
          }
        }
        load.running.stop();
      },
    });
    for (const [service, server, ms] of slowest) {
      lab.within(`standstill, ${service} to ${server}`, STANDSTILL_MS, ms);
    }
  },
};

const latency: Fault = {
  id: 'F-11',
  title: 'each server answers late: 200 ms, then 2 s',
  async run(lab) {
    const site = await lab.site();
    const rss = new Map<string, number>();
    const watch = setInterval(() => {
      for (const service of site.stack.services) {
        if (service.running) {
          const { rssBytes } = usageOf(service.pid);
          rss.set(service.name, Math.max(rss.get(service.name) ?? 0, rssBytes));
        }
      }
    }, 500);
    try {
      await underLoad(lab, site, {
        load: { eventsPerSecond: 1_000, seconds: 600 },
        allowance: { statuses: ['429', '503'] },
        faults: async (load) => {
          for (const server of ['postgres', 'redis', 'nats'] as const) {
            for (const ms of [200, 2_000]) {
              for (const link of site.proxies.of(server)) link.mode('latency', ms);
              lab.note(`${server} answers ${ms} ms late for 5 s`);
              await lab.sleep(5_000);
              for (const link of site.proxies.of(server)) link.mode('pass');
              lab.note(`everything goes on ${(await recovered(site, load)).toFixed(0)} ms later`);
            }
          }
          load.running.stop();
        },
      });
    } finally {
      clearInterval(watch);
      for (const server of ['postgres', 'redis', 'nats'] as const) {
        for (const link of site.proxies.of(server)) link.mode('pass');
      }
    }
    for (const [name, bytes] of rss) lab.check(atMost(`memory of ${name}`, RSS_LIMIT_MB, bytes / MEGABYTE, 'MB'));
    lab.check(holds('no process ran out of memory', site.unexpectedExits === 0, String(site.unexpectedExits), '0'));
  },
};

export const BROKEN_LINKS = [halfOpen, latency];
