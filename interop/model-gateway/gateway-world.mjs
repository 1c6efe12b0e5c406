// A platform with the model gateway, a provider on loopback, and what the tests of every client need.
import { setTimeout as delay } from 'node:timers/promises';
import { startFakeProvider } from '../../libs/testing/src/fake-provider.ts';
import { startPlatform } from '../platform.mjs';

const SETTLED_MS = 30_000;

/** @returns a platform of its own with connections "anthropic", "openai" and "gemini" to a provider on loopback */
export async function startWorld() {
  process.env.AGENTLENS_EGRESS_ALLOW = '127.0.0.1/32';
  const platform = await startPlatform('in one process');
  const world = await openWorld(platform);
  const stop = async () => {
    try {
      await world.stop();
    } finally {
      await platform.stop();
    }
  };
  return { ...world, stop };
}

/** The same on a running platform that may reach loopback. */
export async function openWorld({ url, key }) {
  const provider = await startFakeProvider();
  const api = async (method, path, body) => {
    const answer = await realFetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  for (const [name, baseUrl] of [
    ['anthropic', provider.url],
    ['openai', `${provider.url}/v1`],
    ['gemini', provider.url],
  ]) {
    await api('PUT', `/api/model-connections/${name}`, { dialect: name, baseUrl, credential: 'provider-key' });
  }
  const keyOf = async (agent) => (await api('POST', '/api/keys', { scopes: ['model'], agents: [agent] })).key;
  return { url, provider, api, keyOf, stop: () => provider.stop() };
}

/** Blocks the calls of one agent, and waits until the rule applies. */
export async function blockAgent(world, agent, probe) {
  await world.api('POST', '/api/guardrails', {
    name: `No calls of ${agent}`,
    agentId: agent,
    conditionType: 'expression',
    conditionConfig: { expression: 'args.request.bytes > 0' },
    actionType: 'block',
    actionConfig: { message: 'Calls of this agent are not allowed' },
    selector: { phases: ['llm.before'] },
    mode: 'enforce',
  });
  await until(async () => (await probe()) !== 200);
}

export async function until(holds) {
  const lastMs = Date.now() + SETTLED_MS;
  while (!(await holds())) {
    if (Date.now() > lastMs) throw new Error('did not happen in time');
    await delay(100);
  }
}

/** Before a test replaces it. */
const realFetch = globalThis.fetch;

/** Counts the requests that a client sends. */
export function countingFetch() {
  const counting = async (...args) => {
    counting.sent += 1;
    return realFetch(...args);
  };
  counting.sent = 0;
  return counting;
}
