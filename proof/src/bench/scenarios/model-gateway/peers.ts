import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@agentlens/testing';
import { until } from '../../../harness/time.ts';

const START_MS = 120_000;

/** A way to the provider: its address, and what a client of it sends. */
export interface Target {
  readonly name: string;
  /** Address of chat completions. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The process whose CPU counts, with its children. */
  readonly pid: number;
}

export interface Peer extends Target {
  stop(): Promise<void>;
}

/**
 * Starts the peers that are installed in the folder BENCH_PEERS: Portkey's gateway by `npm install`, LiteLLM in
 * a virtual environment `py`.
 */
export async function startPeers(providerUrl: string): Promise<Peer[]> {
  const folder = process.env.BENCH_PEERS;
  if (folder === undefined) return [];
  const peers: Peer[] = [];
  try {
    const portkey = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
    if (existsSync(portkey)) peers.push(await startPortkey(portkey, providerUrl));
    const litellm = join(folder, 'py/bin/litellm');
    if (existsSync(litellm)) peers.push(await startLiteLlm(litellm, providerUrl));
    return peers;
  } catch (error) {
    await Promise.all(peers.map((peer) => peer.stop()));
    throw error;
  }
}

async function startPortkey(entry: string, providerUrl: string): Promise<Peer> {
  const port = await freePort();
  const server = spawn(process.execPath, [entry, `--port=${port}`, '--headless'], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}/v1/chat/completions`;
  const headers = {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${providerUrl}/v1`,
    authorization: 'Bearer provider-key',
  };
  return startPeer({ name: 'Portkey', url, headers }, server, () => undefined);
}

async function startLiteLlm(program: string, providerUrl: string): Promise<Peer> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlens-litellm-'));
  const model = (name: string) => ({
    model_name: name,
    litellm_params: { model: `openai/${name}`, api_base: `${providerUrl}/v1`, api_key: 'provider-key' },
  });
  const config = join(folder, 'config.yaml');
  // JSON is YAML.
  await writeFile(config, JSON.stringify({ model_list: [model('gpt-4.1')] }));
  const port = await freePort();
  const masterKey = `sk-${randomBytes(24).toString('hex')}`;
  const server = spawn(program, ['--config', config, '--host', '127.0.0.1', '--port', String(port)], {
    stdio: 'ignore',
    // It does not start without a key, and reads its prices from the network unless told otherwise.
    env: { ...process.env, LITELLM_MASTER_KEY: masterKey, LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
  });
  const url = `http://127.0.0.1:${port}/v1/chat/completions`;
  const headers = { authorization: `Bearer ${masterKey}` };
  return startPeer({ name: 'LiteLLM', url, headers }, server, () => rm(folder, { recursive: true, force: true }));
}

async function startPeer(
  { name, url, headers }: Pick<Target, 'name' | 'url' | 'headers'>,
  server: ChildProcess,
  clean: () => unknown,
): Promise<Peer> {
  await once(server, 'spawn');
  const { pid = 0 } = server;
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      const exit = once(server, 'exit');
      server.kill();
      await exit;
    }
    await clean();
  };
  const isReady = async () => {
    if (server.exitCode !== null) throw new Error(`${name} ended with ${server.exitCode}`);
    const answer = await callOnce({ url, headers }).catch(() => undefined);
    return answer?.ok === true ? true : undefined;
  };
  await until(`${name} to answer`, isReady, START_MS).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { name, url, headers, pid, stop };
}

function callOnce({ url, headers }: Pick<Target, 'url' | 'headers'>): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] }),
  });
}
