import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { checkOut } from '../../harness/checkout.ts';
import { findInstalled } from '../../harness/release.ts';
import type { ServiceProcess } from '../../harness/service-process.ts';
import { SERVICES } from '../../harness/stack.ts';
import { Balancer } from '../balancer.ts';
import { equal } from '../check.ts';
import { type Fault, type Lab, NotHere } from '../fault.ts';
import type { Settled } from '../oracle.ts';
import type { Site, SiteOptions } from '../site.ts';
import { NotifiedGateways } from './notified-gateways.ts';
import { noneRefused, underLoad } from './under-load.ts';

const EXIT_MS = 10_000;
/** Minimum delay of a trigger after a redelivery. */
const ACK_WAIT_MS = 5_000;
const TWO_OF_EACH = {
  ingest: 2,
  'run-tracking': 2,
  'guardrail-evaluator': 2,
  'action-dispatcher': 2,
  query: 2,
} as const;

const terminated: Fault = {
  id: 'F-18',
  title: 'every service is stopped under load, one replica after the other',
  async run(lab) {
    const settled = await underLoadOnPairs(lab, (site) => restartAll(lab, site));
    lab.within('worst trigger: nothing was redelivered', ACK_WAIT_MS, settled.worstTriggerMs);
    lab.check(settled.triggersTimed);
  },
};

const rolled: Fault = {
  id: 'F-19',
  title: 'a rolling restart over a schema that grows, and back',
  async run(lab) {
    await underLoadOnPairs(lab, async (site) => {
      await alter(site, ['events', 'runs', 'agents', 'guardrail_triggers'], 'add column of_tomorrow text');
      lab.note('schema N+1: another column in four tables');
      await setUp(lab, site, site.root);
      await restartAll(lab, site);
      await alter(site, ['events', 'runs', 'agents', 'guardrail_triggers'], 'drop column of_tomorrow');
      lab.note('schema N again');
      await restartAll(lab, site);
    });
  },
};

const upgraded: Fault = {
  id: 'F-32',
  title: 'an upgrade from the release before under load, one replica after the other',
  async run(lab) {
    const release = await findInstalled(lab.root).catch((error: Error) => {
      throw new NotHere(error.message);
    });
    const before = await checkOut(lab.root, release, (text) => lab.note(text));
    try {
      await underLoadOnPairs(lab, (site) => upgradeAll(lab, site), { root: before.root });
    } finally {
      await before.remove();
    }
  },
};

/** The migration first, then each service. While one replica is old and one new, both follow what either announces. */
async function upgradeAll(lab: Lab, site: Site): Promise<void> {
  await setUp(lab, site, lab.root);
  lab.note('migrated, with every service of the release before running');
  const gateways = new NotifiedGateways(site, replicasOf(site, 'ingest'));
  await gateways.follow('every service old');
  for (const name of SERVICES) {
    const replicas = replicasOf(site, name);
    for (const service of replicas) {
      service.useBuild(lab.root);
      await restart(lab, service);
      if (service === replicas[0]) await gateways.follow(`one of ${name} new`);
    }
    lab.note(`both of ${name} upgraded`);
  }
  await gateways.follow('every service new');
  lab.measure('rules and orders that both gateways followed', gateways.followed, 'times');
}

/** Two replicas of each service behind a balancer run under load during the faults, and reject nothing. */
async function underLoadOnPairs(
  lab: Lab,
  faults: (site: Site) => Promise<void>,
  options: Pick<SiteOptions, 'root'> = {},
): Promise<Settled> {
  const site = await lab.freshSite({ ...options, replicas: TWO_OF_EACH });
  const redeliveriesBefore = await site.streams.redeliveries();
  const givenBack = await site.streams.countGivenBack();
  const balancer = await Balancer.open(site.stack.services.filter(({ name }) => name.startsWith('ingest')));
  try {
    const settled = await underLoad(lab, site, {
      load: { eventsPerSecond: 1_000, seconds: 600, batchSize: 20 },
      url: balancer.url,
      allowance: { statuses: ['429'] },
      faults: async (load) => {
        await lab.sleep(1_000);
        await faults(site);
        load.running.stop();
      },
    });
    noneRefused(lab, settled);
    const again = (await site.streams.redeliveries()) - redeliveriesBefore;
    // A stopping service returns what it has not started, and the broker redelivers it at once.
    const unbegun = await givenBack.count();
    lab.measure('messages returned: not started at a stop, or to be retried', unbegun, 'times');
    lab.check(equal('messages redelivered that were not returned', 0, again - unbegun));
    return settled;
  } finally {
    givenBack.stop();
    await balancer.close();
  }
}

async function restartAll(lab: Lab, site: Site): Promise<void> {
  for (const name of SERVICES) {
    for (const service of replicasOf(site, name)) await restart(lab, service);
    lab.note(`both of ${name} stopped and started`);
  }
}

function replicasOf(site: Site, name: string): readonly ServiceProcess[] {
  return site.stack.services.filter((one) => one.name.startsWith(name));
}

async function restart(lab: Lab, service: ServiceProcess): Promise<void> {
  const { code, ms } = await service.stop();
  lab.check(equal(`exit code of ${service.name}`, 0, code ?? -1));
  lab.within(`${service.name} drained`, EXIT_MS, ms);
  await service.start();
}

/** Like a migration: gives up its lock soon and retries, instead of blocking the traffic. */
async function alter(site: Site, tables: readonly string[], change: string): Promise<void> {
  for (const table of tables) {
    for (;;) {
      const client = await site.pool.connect();
      try {
        await client.query("set lock_timeout = '2s'");
        await client.query(`alter table ${table} ${change}`);
        break;
      } catch (error) {
        if ((error as { code?: string }).code !== '55P03') throw error;
      } finally {
        client.release();
      }
    }
  }
}

/** Runs the migration command of a build against the running platform. */
async function setUp(lab: Lab, site: Site, root: string): Promise<void> {
  const child = spawn(process.execPath, [join(root, 'libs/platform/dist/setup.js')], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH ?? '',
      DATABASE_URL: site.stack.postgresUrl,
      NATS_URL: site.stack.natsUrl ?? '',
      REDIS_URL: site.stack.redisUrl ?? '',
      AGENTLENS_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    },
  });
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  lab.check(equal('exit code of the migration on a running platform', 0, code ?? -1));
}

export const RESTARTS = [terminated, rolled, upgraded];
