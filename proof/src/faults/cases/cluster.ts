import { jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { until } from '../../harness/time.ts';
import { equal } from '../check.ts';
import type { Fault } from '../fault.ts';
import { NatsCluster } from '../nats-cluster.ts';
import { recovered } from '../recovery.ts';
import type { Site } from '../site.ts';
import { underLoad } from './under-load.ts';

const ROOM_BYTES = 256 * 1_048_576;
const STREAM = 'AGENT_EVENTS';
/** A subject of that stream that no consumer reads. */
const PROBES = 'proof.probes';
const DEADLINE_MS = 60_000;
const AWAY_MS = 10_000;
const WRITE_GAP_MS = 5_000;
/**
 * If NATS itself takes longer (it elects a leader 4 to 9 s after the last sign of the old one), the allowance on top.
 */
const PAST_ELECTION_MS = 2_000;

const cluster: Fault = {
  id: 'F-20',
  title: 'a cluster of three NATS servers: the leader is killed, then frozen, then cut off from the others',
  async run(lab) {
    const servers = new NatsCluster();
    const site = await lab.freshSite({ direct: ['nats'], nats: () => servers.start() });
    await copyEverything(site, servers.size);
    lab.note('every stream has three copies');
    const gaps: number[] = [];

    async function withoutLeader(how: string, lose: (name: string) => Promise<void>): Promise<string> {
      const name = await leader(site);
      const ms = await writableAgain(servers.urlsWithout(name), PROBES, () => lose(name));
      gaps.push(ms);
      lab.note(`${name}, leader of ${STREAM}, ${how}: bare clients write again after ${ms.toFixed(0)} ms`);
      return name;
    }

    const settled = await underLoad(lab, site, {
      load: { eventsPerSecond: 1_000, seconds: 600 },
      faults: async (load) => {
        await lab.sleep(2_000);
        const goesOn = async () => {
          lab.note(`everything works again ${(await recovered(site, load)).toFixed(0)} ms later`);
        };
        const killed = await withoutLeader('is killed', (name) => servers.node(name).kill('SIGKILL'));
        await goesOn();
        await servers.node(killed).start();
        await inStep(site, servers.size);
        lab.note(`${killed} is back and in sync`);

        const frozen = await withoutLeader('is frozen', (name) => servers.node(name).kill('SIGSTOP'));
        await lab.sleep(AWAY_MS);
        await servers.node(frozen).kill('SIGCONT');
        lab.note(`${frozen} thaws`);
        await goesOn();
        await inStep(site, servers.size);

        const cut = await withoutLeader('is cut off', (name) => Promise.resolve(servers.cutOff(name)));
        await lab.sleep(AWAY_MS);
        await goesOn();
        servers.rejoin(cut);
        await inStep(site, servers.size);
        lab.note(`${cut} is back and in sync`);
        load.running.stop();
      },
    });
    const longestGap = Math.max(...gaps);
    lab.measure('longest gap of bare clients', longestGap, 'ms');
    const limit = Math.max(WRITE_GAP_MS, longestGap + PAST_ELECTION_MS);
    lab.within('write gap', limit, settled.report.longestStallMs);
    lab.check(equal('copies of the stream in sync', servers.size - 1, await copiesInStep(site)));
  },
};

async function copyEverything(site: Site, copies: number): Promise<void> {
  const { manager } = site.streams;
  const streams: { name: string; subjects: string[] }[] = [];
  for await (const { config } of manager.streams.list()) streams.push(config);
  for (const { name, subjects } of streams) {
    // Three copies of the reserved size do not fit on a small disk.
    const more = name === STREAM ? [PROBES] : [];
    await manager.streams.update(name, { max_bytes: ROOM_BYTES, subjects: [...subjects, ...more] });
    const copied = () => manager.streams.update(name, { num_replicas: copies }).catch(() => undefined);
    await until(`three copies of ${name}`, copied, DEADLINE_MS);
  }
  await inStep(site, copies);
}

function leader(site: Site): Promise<string> {
  return until(
    'a leader',
    async () => (await site.streams.manager.streams.info(STREAM).catch(() => undefined))?.cluster?.leader,
    DEADLINE_MS,
  );
}

async function copiesOf(site: Site) {
  const info = await site.streams.manager.streams.info(STREAM).catch(() => undefined);
  return info?.cluster?.replicas ?? [];
}

async function copiesInStep(site: Site): Promise<number> {
  return (await copiesOf(site)).filter(({ current, offline }) => current && !offline).length;
}

async function inStep(site: Site, copies: number): Promise<void> {
  const all = async () => ((await copiesInStep(site)) === copies - 1 ? true : undefined);
  try {
    await until('all copies in sync', all, DEADLINE_MS);
  } catch (error) {
    // The lag of each copy, and when it was last seen.
    throw new Error(`not all copies are in sync: ${JSON.stringify(await copiesOf(site))}`, { cause: error });
  }
}

export const CLUSTER = [cluster];

const WRITABLE_WITHIN_MS = 60_000;
const ASK_EVERY_MS = 200;
const ANSWER_MS = 400;

/**
 * Milliseconds from the start of `lose` until one of these servers stores a message on `subject`, for bare clients that
 * wait at each of them. This is the cluster's share of a gap. An elected leader is not enough, because it may still be
 * catching up or be replaced soon.
 */
async function writableAgain(servers: readonly string[], subject: string, lose: () => Promise<void>): Promise<number> {
  const clients = await Promise.all(
    servers.map((server) => connect({ servers: server, maxReconnectAttempts: -1, reconnectTimeWait: ASK_EVERY_MS })),
  );
  try {
    const since = performance.now();
    await lose();
    await until('the cluster to store a message', () => kept(clients, subject), WRITABLE_WITHIN_MS);
    return performance.now() - since;
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** Returns true as soon as one of them was acknowledged. Retries on silent connections. */
async function kept(clients: readonly NatsConnection[], subject: string): Promise<true | undefined> {
  const asked = performance.now();
  const answers = clients.map(async (client) => {
    await jetstream(client).publish(subject, '', { timeout: ANSWER_MS });
    return true as const;
  });
  const answer = await Promise.any(answers).catch(() => undefined);
  if (answer) return answer;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, asked + ASK_EVERY_MS - performance.now())));
  return undefined;
}
