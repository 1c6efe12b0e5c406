import type { ServerName, StackService } from '../../harness/stack.ts';
import type { Fault } from '../fault.ts';
import { answering, standstill } from '../recovery.ts';
import { underLoad } from './under-load.ts';

const LINKS: readonly (readonly [StackService, ServerName])[] = [
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
/** NATS takes 6 s to detect a silent listener, and a request waits 5 s for its reply. */
const ANSWERING_MS = 15_000;

const halfOpen: Fault = {
  id: 'F-10',
  title: 'connections that die without being closed',
  smoke: true,
  async run(lab) {
    const site = await lab.site();
    const links = lab.smoke ? LINKS.slice(0, SMOKE_LINKS) : LINKS;
    const times = lab.smoke ? 1 : TIMES;
    const slowest: [StackService, ServerName, number][] = [];
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
            `${service} to ${server} half open ${times} times: no progress for ${longest.toFixed(0)} ms at most`,
          );
          slowest.push([service, server, longest]);
          if (service === 'guardrail-evaluator' && server === 'nats') {
            const ms = await answering(site);
            lab.note(`all commands are answered again after ${ms.toFixed(0)} ms`);
            lab.within('until all commands are answered again', ANSWERING_MS, ms);
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

export const BROKEN_LINKS = [halfOpen];
