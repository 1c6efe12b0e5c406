import { freePort, startNats, type TestServer } from '@agentlens/testing';
import { until } from '../../bench/poll.ts';
import { atMost, equal } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import { recovered } from '../recovery.ts';
import type { Site } from '../site.ts';
import { underLoad } from './under-load.ts';

const NODES = 3;
const ROOM_BYTES = 256 * 1_048_576;
const STREAM = 'AGENT_EVENTS';
const DEADLINE_MS = 60_000;
const WRITE_GAP_MS = 5_000;

const cluster: Fault = {
  id: 'F-20',
  title: 'a cluster of three NATS servers loses its leader, then its leader freezes for 10 s',
  async run(lab) {
    const nodes = new Map<string, TestServer>();
    const site = await lab.freshSite({ directNats: true, nats: () => startCluster(nodes) });
    const { manager } = site.streams;
    const names: string[] = [];
    for await (const { config } of manager.streams.list()) names.push(config.name);
    for (const name of names) {
      // Three times the room that is reserved for one copy is more than a small disk has.
      await manager.streams.update(name, { max_bytes: ROOM_BYTES });
      const copied = () => manager.streams.update(name, { num_replicas: NODES }).catch(() => undefined);
      await until(`three copies of ${name}`, copied, DEADLINE_MS);
    }
    await inStep(site);
    lab.note('every stream has three copies');
    const settled = await underLoad(lab, site, {
      load: { eventsPerSecond: 1_000, seconds: 600 },
      faults: async (load) => {
        await lab.sleep(2_000);
        const killed = await leader(lab, site);
        await nodes.get(killed)?.kill('SIGKILL');
        lab.note(`SIGKILL ${killed}, leader of ${STREAM}`);
        lab.note(`everything goes on after ${(await recovered(site, load)).toFixed(0)} ms`);
        await nodes.get(killed)?.start();
        await inStep(site);
        lab.note(`${killed} is back and in step`);
        const frozen = await leader(lab, site);
        await nodes.get(frozen)?.kill('SIGSTOP');
        lab.note(`SIGSTOP ${frozen}, leader of ${STREAM}, for 10 s`);
        await lab.sleep(10_000);
        await nodes.get(frozen)?.kill('SIGCONT');
        lab.note(`everything goes on ${(await recovered(site, load)).toFixed(0)} ms after it thawed`);
        await inStep(site);
        load.running.stop();
      },
    });
    lab.check(atMost('write gap', WRITE_GAP_MS, settled.report.longestStallMs, 'ms'));
    lab.check(equal('copies of the stream in step', NODES - 1, await copiesInStep(site)));
  },
};

/** Three servers on this machine; stopped together. */
async function startCluster(nodes: Map<string, TestServer>): Promise<TestServer> {
  const routes: number[] = [];
  const clients: number[] = [];
  for (let i = 0; i < NODES; i++) {
    routes.push(await freePort());
    clients.push(await freePort());
  }
  const peers = routes.map((port) => `nats-route://127.0.0.1:${port}`).join(', ');
  await Promise.all(
    routes.map(async (port, i) => {
      const name = `node-${i + 1}`;
      const config = `server_name: ${name}
cluster { name: proof, listen: "127.0.0.1:${port}", no_advertise: true, routes: [${peers}] }`;
      nodes.set(name, await startNats({ durable: true, port: clients[i] ?? 0, config }));
    }),
  );
  const all = () => [...nodes.values()];
  return {
    url: all()
      .map(({ url }) => url)
      .join(','),
    kill: async (signal) => void (await Promise.all(all().map((node) => node.kill(signal)))),
    start: async () => void (await Promise.all(all().map((node) => node.start()))),
    restart: async () => void (await Promise.all(all().map((node) => node.restart()))),
    stop: async () => {
      // A frozen one cannot stop.
      await Promise.all(all().map((node) => node.kill('SIGCONT')));
      await Promise.all(all().map((node) => node.stop()));
    },
  };
}

function leader(lab: Lab, site: Site): Promise<string> {
  return until(
    'a leader',
    async () => {
      const info = await site.streams.manager.streams.info(STREAM).catch(() => undefined);
      if (info === undefined) await lab.sleep(200);
      return info?.cluster?.leader;
    },
    DEADLINE_MS,
  );
}

async function copiesInStep(site: Site): Promise<number> {
  const info = await site.streams.manager.streams.info(STREAM).catch(() => undefined);
  return info?.cluster?.replicas?.filter(({ current, offline }) => current && !offline).length ?? 0;
}

async function inStep(site: Site): Promise<void> {
  await until(
    'all copies in step',
    async () => ((await copiesInStep(site)) === NODES - 1 ? true : undefined),
    DEADLINE_MS,
  );
}

export const CLUSTER = [cluster];
