import type { Fault } from '../fault.ts';
import { recovered, resumed } from '../recovery.ts';
import { noneRefused, underLoad } from './under-load.ts';

const TIMES = 3;
const EVENTS_PER_SECOND = 1_500;

const nats: Fault = {
  id: 'F-06',
  title: 'NATS is killed and stays away for 1 to 10 s',
  async run(lab) {
    const site = await lab.site();
    let slowest = 0;
    await underLoad(lab, site, {
      load: { eventsPerSecond: EVENTS_PER_SECOND, seconds: 45 },
      faults: async (load) => {
        for (const seconds of [1, lab.between(2, 5), 10]) {
          await lab.sleep(2_000);
          await site.server('nats').kill('SIGKILL');
          lab.note(`SIGKILL nats-server, away for ${seconds} s`);
          await lab.sleep(seconds * 1_000);
          await site.server('nats').start();
          const ms = await resumed(site, load);
          lab.note(`everything works again ${ms.toFixed(0)} ms after its return`);
          await recovered(site, load);
          slowest = Math.max(slowest, ms);
        }
      },
    });
    lab.within('resumed after the return', 3_000, slowest);
  },
};

const postgres: Fault = {
  id: 'F-07',
  title: 'Postgres is stopped at once and stays away for 1 to 30 s',
  async run(lab) {
    const site = await lab.site();
    const outages = [1, lab.between(5, 15), lab.between(20, 30)];
    const drains: { readonly outage: number; readonly ms: number }[] = [];
    const settled = await underLoad(lab, site, {
      load: { eventsPerSecond: EVENTS_PER_SECOND, seconds: outages.reduce((sum, one) => sum + one * 2, 20) },
      // The gateway is not affected, because it caches keys.
      allowance: { statuses: ['429'] },
      faults: async (load) => {
        for (const seconds of outages) {
          await lab.sleep(2_000);
          const since = performance.now();
          await site.server('postgres').kill('SIGQUIT');
          lab.note(`immediate stop of Postgres, away for ${seconds} s`);
          await lab.sleep(seconds * 1_000);
          await site.server('postgres').start();
          const outage = performance.now() - since;
          const ms = await recovered(site, load);
          drains.push({ outage, ms });
          lab.note(`caught up ${ms.toFixed(0)} ms after its return`);
        }
      },
    });
    noneRefused(lab, settled);
    for (const { outage, ms } of drains) {
      lab.within(`caught up after ${(outage / 1_000).toFixed(1)} s`, Math.max(outage * 1.5, 5_000), ms);
    }
  },
};

const redis: Fault = {
  id: 'F-08',
  title: 'Redis is killed, its append-only file synced every second',
  async run(lab) {
    const site = await lab.site();
    await underLoad(lab, site, {
      // Stopped when all is done, because recovery is visible only under load.
      load: { eventsPerSecond: EVENTS_PER_SECOND, seconds: 300 },
      allowance: { countError: EVENTS_PER_SECOND * TIMES },
      faults: async (load) => {
        for (let time = 1; time <= TIMES; time++) {
          await lab.sleep(lab.between(1_000, 2_000));
          await site.server('redis').kill('SIGKILL');
          lab.note(`SIGKILL redis-server, ${time} of ${TIMES}`);
          await lab.sleep(lab.between(200, 2_000));
          await site.server('redis').start();
          lab.note(`everything works again ${(await recovered(site, load)).toFixed(0)} ms after its return`);
        }
        load.running.stop();
      },
    });
  },
};

export const KILLED_SERVERS = [nats, postgres, redis];
