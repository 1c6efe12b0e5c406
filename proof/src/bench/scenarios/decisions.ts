import { type ChildProcess, execFile, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { DecisionPath } from '@agentlens/contracts';
import { freePort } from '@agentlens/testing';
import { connect } from '@nats-io/transport-node';
import { ServiceProcess } from '../../harness/service-process.ts';
import type { LatencySummary } from '../../harness/statistics.ts';
import type { Bench, Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { atTheEdgeOfABudget } from './decisions/budget-edge.ts';
import { inFlight } from './decisions/in-flight.ts';
import { killed } from './decisions/killed.ts';
import { killedTree } from './decisions/killed-tree.ts';
import { labelled } from './decisions/labels.ts';
import { neighbours } from './decisions/neighbours.ts';
import { inOneProcess, withSchemaLock } from './decisions/one-at-a-time.ts';
import { startOpa } from './decisions/opa.ts';
import { ruleChanges } from './decisions/rule-changes.ts';
import { sharesDecidedByTheGateway } from './decisions/share.ts';
import { EMPTY_SUBJECT } from './decisions/ways.ts';

const HOT_PATH = fileURLToPath(new URL('../../../../libs/sdk/bench/hot-path.mjs', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const EMPTY_HANDLER = fileURLToPath(new URL('../empty-handler.ts', import.meta.url));
const NS_PER_MS = 1e6;

interface Measured {
  readonly name: string;
  readonly samples: number;
  readonly ns: Omit<LatencySummary, 'count'>;
  readonly emptyNs: Omit<LatencySummary, 'count'>;
  readonly ratio: number;
}

/** The cost of the SDK in the agent's own process without a server: hooks, the breaker, decisions by local rules. */
async function inTheAgent(bench: Bench): Promise<void> {
  bench.progress('decisions: in the agent');
  const { stdout } = await promisify(execFile)(process.execPath, [HOT_PATH, '--json']);
  for (const { name, samples, ns, emptyNs, ratio } of JSON.parse(stdout) as Measured[]) {
    bench.found({
      ...{ scenario: 'decisions', variant: `in the agent, ${name}`, shape: 'distributed', unit: 'process' },
      ...{ count: samples, seconds: 0, cpuMicros: {}, rssBytes: {}, checks: [] },
      latency: { call: inMs(ns, samples), 'empty function': inMs(emptyNs, samples) },
      notes: { 'call : empty, p50': ratio.toFixed(1) },
    });
  }
}

function inMs({ p50, p95, p99, max }: Measured['ns'], count: number): LatencySummary {
  return { count, p50: p50 / NS_PER_MS, p95: p95 / NS_PER_MS, p99: p99 / NS_PER_MS, max: max / NS_PER_MS };
}

/** The cost of decisions for an agent and the platform, and whether a stop really stops. */
export const decisions: Scenario = {
  name: 'decisions',
  title:
    'hooks, local and remote decisions compared with an empty handler and beside an expensive neighbor, a kill that arrives, 500 callers at a budget',
  smoke: false,
  async run(bench: Bench) {
    await inTheAgent(bench);
    const stage = await bench.stage('distributed');
    const { natsUrl } = stage.stack;
    if (natsUrl === undefined) throw new Error('the distributed shape has a NATS server');
    const connection = await connect({ servers: natsUrl });
    const empty = fork(EMPTY_HANDLER, [natsUrl, EMPTY_SUBJECT]);
    const asking = await startGateway(stage, 'evaluator');
    const second = await startGateway(stage, 'gateway');
    const opa = await startOpa();
    try {
      const endpoints = { connection, emptyUrl: await addressOf(empty) };
      await withSchemaLock(bench, stage, { ...endpoints, askingUrl: asking.url, opaUrl: opa?.url });
      await labelled(bench, stage, asking.url);
      await ruleChanges(bench, stage, [stage.stack.ingestUrl, second.url]);
      await inFlight(bench, stage, endpoints);
      await neighbours(bench, stage);
      await killed(bench, stage);
      await killedTree(bench, stage, [stage.stack.ingestUrl, second.url, asking.url]);
      await atTheEdgeOfABudget(bench, stage);
    } finally {
      await opa?.stop();
      await Promise.all([asking.stop(), second.stop()]);
      await stopped(empty);
      await connection.close();
    }
    await stage.setRules([]);
  },
};

/** Decisions of all services in one process beside an empty handler, and beside OPA if it is installed. */
export const decisionsBesideOpa: Scenario = {
  name: 'decisions-opa',
  title: 'decisions in one process beside an empty handler and, if it is installed, OPA',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('standalone');
    const empty = fork(EMPTY_HANDLER);
    const opa = await startOpa();
    try {
      await inOneProcess(bench, stage, { emptyUrl: await addressOf(empty), opaUrl: opa?.url });
    } finally {
      await opa?.stop();
      await stopped(empty);
    }
    await stage.setRules([]);
  },
};

/** How many calls a gateway answers itself under the rules of the demo, of a coding agent, and of a support agent. */
export const decisionShare: Scenario = {
  name: 'decision-share',
  title: 'share of calls that a gateway decides under realistic rules, and what that saves',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    const asking = await startGateway(stage, 'evaluator');
    try {
      await sharesDecidedByTheGateway(bench, stage, asking.url);
    } finally {
      await asking.stop();
    }
    await stage.setRules([]);
  },
};

/** Starts a second gateway beside the platform's own, with the same evaluator. */
async function startGateway({ stack }: Stage, path: DecisionPath): Promise<ServiceProcess> {
  const port = await freePort();
  const gateway = new ServiceProcess({
    name: `ingest-${path}`,
    entry: `${ROOT}services/ingest/dist/main.js`,
    port,
    cwd: ROOT,
    env: {
      AGENTLENS_DECISION_PATH: path,
      DATABASE_URL: stack.postgresUrl,
      NATS_URL: stack.natsUrl ?? '',
      REDIS_URL: stack.redisUrl ?? '',
      AGENTLENS_SECRET_KEY: randomBytes(32).toString('base64'),
      AGENTLENS_KEY_EVENTS_PER_SECOND: '10000000',
      AGENTLENS_LOG_LEVEL: 'warn',
      AGENTLENS_HTTP_HOST: '127.0.0.1',
      AGENTLENS_HTTP_PORT: String(port),
    },
  });
  await gateway.start();
  return gateway;
}

async function addressOf(empty: ChildProcess): Promise<string> {
  const [port] = (await once(empty, 'message')) as [number];
  return `http://127.0.0.1:${port}`;
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, 'exit');
  child.disconnect();
  await exit;
}
