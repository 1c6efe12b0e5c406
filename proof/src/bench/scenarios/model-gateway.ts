import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from '@agentlens/testing';
import { request } from 'undici';
import { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/time.ts';
import type { Bench, Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { measureCalls } from './model-gateway/calls.ts';
import { measureKill } from './model-gateway/kill.ts';
import { measureOpenStreams } from './model-gateway/open-streams.ts';
import { startPeers, type Target } from './model-gateway/peers.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const PROVIDER = fileURLToPath(new URL('../model-provider.ts', import.meta.url));
const AGENT = 'gateway-bench';
const READY_MS = 30_000;

/** The model gateway beside a direct call and, if they are installed, Portkey's gateway and LiteLLM. */
export const modelGateway: Scenario = {
  name: 'model-gateway',
  title:
    'model calls through the gateway, directly and through Portkey and LiteLLM if installed; a kill of open streams; 2,000 open streams',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    const provider = fork(PROVIDER);
    const [port] = (await once(provider, 'message')) as [number];
    const providerUrl = `http://127.0.0.1:${port}`;
    const gateway = await startModelGateway(stage);
    try {
      const peers = await startPeers(providerUrl);
      try {
        const own = await connect(stage, stage.stack.key, gateway, providerUrl);
        const { pid = 0 } = provider;
        const direct = { name: 'direct', url: `${providerUrl}/v1/chat/completions`, headers: {}, pid };
        await measureCalls(bench, [direct, own, ...peers]);
        await measureKill(bench, stage, own, AGENT);
        const tenants = await stage.tenantsWithRules(2);
        await measureOpenStreams(
          bench,
          await Promise.all(tenants.map((key) => connect(stage, key, gateway, providerUrl))),
        );
      } finally {
        await Promise.all(peers.map((peer) => peer.stop()));
      }
    } finally {
      await gateway.stop();
      await stopped(provider);
    }
  },
};

async function startModelGateway({ stack }: Stage): Promise<ServiceProcess> {
  const port = await freePort();
  const gateway = new ServiceProcess({
    ...{ name: 'model-gateway', entry: `${ROOT}services/model-gateway/dist/main.js`, port, cwd: ROOT },
    env: {
      DATABASE_URL: stack.postgresUrl,
      NATS_URL: stack.natsUrl ?? '',
      REDIS_URL: stack.redisUrl ?? '',
      AGENTLENS_SECRET_KEY: stack.secretKey,
      AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32',
      AGENTLENS_KEY_EVENTS_PER_SECOND: '10000000',
      AGENTLENS_LOG_LEVEL: 'warn',
      AGENTLENS_HTTP_HOST: '127.0.0.1',
      AGENTLENS_HTTP_PORT: String(port),
    },
  });
  await gateway.start();
  return gateway;
}

/** Creates a connection and a key, and waits until the gateway accepts both. */
async function connect(
  { stack }: Stage,
  adminKey: string,
  gateway: ServiceProcess,
  providerUrl: string,
): Promise<Target> {
  const send = async (method: 'PUT' | 'POST', path: string, body: object) => {
    const answer = await request(`${stack.queryUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text) as { readonly key?: string };
  };
  const connection = { dialect: 'openai', baseUrl: `${providerUrl}/v1`, credential: 'provider-key' };
  await send('PUT', '/api/model-connections/bench', connection);
  // A run that made very many calls would open its breaker.
  const limits = { maxIterations: 100_000_000, maxTokens: 1_000_000_000_000, maxCostUsd: 1_000_000_000 };
  await send('PUT', '/api/breakers/limits', { scope: 'agent', scopeId: AGENT, limits });
  const { key = '' } = await send('POST', '/api/keys', { scopes: ['model'], agents: [AGENT] });
  const url = `${gateway.url}/gw/bench/v1/chat/completions`;
  const headers = { authorization: `Bearer ${key}` };
  const body = JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] });
  const isReady = async () => {
    const answer = await request(url, { method: 'POST', headers, body });
    await answer.body.dump();
    return answer.statusCode === 200 ? true : undefined;
  };
  await until('the model gateway to answer', isReady, READY_MS);
  return { name: 'AgentLens', url, headers, pid: gateway.pid };
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, 'exit');
  child.disconnect();
  await exit;
}
