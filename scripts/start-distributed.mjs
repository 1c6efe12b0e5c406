import './require-node.mjs';
import './end-with-npm.mjs';
import { fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { freePort } from '../libs/testing/src/servers/server-process.ts';
import { build } from './build.mjs';
import { startEdgeProxy } from './distributed/edge-proxy.mjs';
import { keptSecret } from './distributed/kept-secret.mjs';
import { natsAddressFile, withoutPassword } from './distributed/nats-address.mjs';
import { Supervised } from './distributed/supervised.mjs';
import { makePackagesLater, promisePackages } from './packages/in-background.mjs';

// Runs the seven services as seven processes on real NATS, Postgres and Redis, at one address.

const SERVICES = [
  'run-tracking',
  'guardrail-evaluator',
  'action-dispatcher',
  'backtester',
  'query',
  'ingest',
  'model-gateway',
];
const WIDTH = Math.max(...SERVICES.map((name) => name.length));
const HOST = process.env.AGENTLENS_HTTP_HOST ?? '127.0.0.1';
const PORT = Number(process.env.AGENTLENS_HTTP_PORT ?? 3400);
/** Generous, because eight processes start slowly on a busy machine. A service that cannot start reports that itself. */
const READY_MS = 300_000;
/** A start that takes longer says every so often what it waits for. */
const WAITING_MS = 15_000;

const root = fileURLToPath(new URL('..', import.meta.url));
/** Node options of every service. The image reads the same file. */
const NODE_OPTIONS = readFileSync(join(root, 'scripts/node-options'), 'utf8').trim().split(/\s+/);
const dataDir = resolve(process.env.AGENTLENS_DATA_DIR ?? join(root, '.agentlens'), 'distributed');

// Files created here contain data and passwords.
process.umask(0o077);

const services = [];
const addresses = {};
let proxy;
let servers;
let stopping;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop(0));

try {
  proxy = await openProxy(addresses);
  await build();
  promisePackages();
  mkdirSync(dataDir, { recursive: true });
  console.log('Starting NATS, Postgres and Redis ...');
  servers = await startServers();
  const { newApiKey } = await built('libs/platform/dist/auth/api-key.js');
  const { humanLine } = await built('libs/platform/dist/log/create-logger.js');
  writeFileSync(natsAddressFile(), `${servers.nats}\n`);
  const isNew = (file) => !existsSync(join(dataDir, file));
  const firstSeen = { admin: isNew('api-key'), platform: isNew('platform-key') };
  const env = environment(servers, () => newApiKey().key);
  const passwords = databasePasswords();
  await runSetup({ ...env, AGENTLENS_DATABASE_PASSWORDS: pairs(passwords) });
  await startServices(env, passwords, (line) => humanLine(line).trimEnd());
  announce(env, firstSeen, await signInLink(env.AGENTLENS_BOOTSTRAP_KEY));
  makePackagesLater();
} catch (error) {
  if (stopping === undefined) {
    console.error(error.message);
    await stop(1);
  }
}

/** Must be called after the build. */
function built(file) {
  return import(pathToFileURL(join(root, file)).href);
}

function startServers() {
  const child = fork(join(root, 'scripts/distributed/local-servers.mjs'), [dataDir], {
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = new Promise((done) => child.once('exit', done));
  return new Promise((done, fail) => {
    child.once('message', (message) => {
      if (message.error !== undefined) fail(new Error(message.error));
      else done({ ...message, stop: () => stopServers(child, exited) });
    });
    void exited.then((code) => fail(new Error(`The local servers exited during the start (exit ${code})`)));
  });
}

function stopServers(child, exited) {
  if (child.connected) child.send('stop');
  return exited;
}

function environment({ postgres, nats, redis }, newKey) {
  return {
    ...process.env,
    DATABASE_URL: postgres,
    NATS_URL: nats,
    REDIS_URL: redis,
    AGENTLENS_BUS: 'nats',
    AGENTLENS_STATE: 'redis',
    AGENTLENS_HTTP_HOST: '127.0.0.1',
    AGENTLENS_SECRET_KEY:
      process.env.AGENTLENS_SECRET_KEY ??
      keptSecret(join(dataDir, 'secret-key'), () => randomBytes(32).toString('base64')),
    AGENTLENS_BOOTSTRAP_KEY: process.env.AGENTLENS_BOOTSTRAP_KEY ?? keptSecret(join(dataDir, 'api-key'), newKey),
    AGENTLENS_PLATFORM_KEY: process.env.AGENTLENS_PLATFORM_KEY ?? keptSecret(join(dataDir, 'platform-key'), newKey),
  };
}

async function runSetup(env) {
  const child = spawn(process.execPath, [join(root, 'libs/platform/dist/setup.js')], {
    env: { ...env, AGENTLENS_LOG_LEVEL: 'warn' },
    stdio: 'inherit',
  });
  const code = await new Promise((done) => child.once('exit', done));
  if (code !== 0) throw new Error('The schema and the streams could not be migrated.');
}

/** NATS address with the user of this service on the local server. */
function natsOf(name, owner) {
  const password = readFileSync(join(dataDir, `nats-${name}-password`), 'utf8').trim();
  return owner.replace(/\/\/[^@]+@/, `//${name}:${password}@`);
}

/** Each service connects to the database as itself. Only the setup gets the owner's login. */
function databasePasswords() {
  return Object.fromEntries(
    SERVICES.map((name) => [
      name,
      keptSecret(join(dataDir, `postgres-password-${name}`), () => randomBytes(24).toString('hex')),
    ]),
  );
}

function pairs(passwords) {
  return Object.entries(passwords)
    .map(([name, password]) => `${name}=${password}`)
    .join(',');
}

function loginOf(name, password, owner) {
  const address = new URL(owner);
  address.username = `agentlens_${name.replaceAll('-', '_')}`;
  address.password = password;
  return address.href;
}

async function startServices(env, passwords, readable) {
  const started = {};
  for (const name of SERVICES) {
    const port = await freePort();
    started[name] = { host: '127.0.0.1', port };
    const service = new Supervised({
      name,
      width: WIDTH,
      readable,
      command: process.execPath,
      args: [...NODE_OPTIONS, join(root, `services/${name}/dist/main.js`)],
      env: {
        ...env,
        NATS_URL: natsOf(name, env.NATS_URL),
        DATABASE_URL: loginOf(name, passwords[name], env.DATABASE_URL),
        AGENTLENS_HTTP_PORT: String(port),
      },
    });
    services.push(service);
    service.start();
  }
  await Promise.all(SERVICES.map((name) => untilReady(name, started[name].port)));
  Object.assign(addresses, started);
}

async function untilReady(name, port) {
  const began = performance.now();
  const deadline = began + READY_MS;
  let reportAt = began + WAITING_MS;
  while (stopping === undefined) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    if (performance.now() > deadline) {
      throw new Error(`${name} was not ready within ${READY_MS / 1000} s: ${(await answer?.text()) ?? 'no answer'}`);
    }
    if (performance.now() > reportAt) {
      console.log(`Still waiting for ${name} (${Math.round((performance.now() - began) / 1000)} s) ...`);
      reportAt += WAITING_MS;
    }
    await delay(100);
  }
}

/** Runs before anything else is started, so that a port in use is reported at once. */
async function openProxy(targets) {
  try {
    return await startEdgeProxy({ port: PORT, host: HOST, targets });
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new Error(`Port ${PORT} is in use by another program. Stop it, or choose another: AGENTLENS_HTTP_PORT=3401`);
  }
}

/**
 * Link that opens the console signed in. Valid once, within an hour. The code is in the fragment, which browsers do not
 * send.
 */
async function signInLink(key) {
  const address = `http://${HOST}:${proxy.port}`;
  const answer = await fetch(`${address}/api/session/codes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  });
  if (!answer.ok) throw new Error(`Could not create a sign-in link: ${answer.status} ${await answer.text()}`);
  return `${address}/sign-in#code=${(await answer.json()).code}`;
}

function announce(env, firstSeen, link) {
  const here = (file) => relative(process.cwd(), join(dataDir, file));
  const processes = services
    .map(({ name, pid }) => `            ${name.padEnd(WIDTH)}  pid ${pid}  http://127.0.0.1:${addresses[name].port}`)
    .join('\n');
  console.log(`
AgentLens is ready, as seven processes.

  Address   http://${HOST}:${proxy.port}
  Console   ${link}
            (signs this browser in; valid once, within an hour)
  API key   ${describeKey('AGENTLENS_BOOTSTRAP_KEY', env, firstSeen.admin, here('api-key'))}
  Tenants   ${describeKey('AGENTLENS_PLATFORM_KEY', env, firstSeen.platform, here('platform-key'))}
            (creates further tenants and cannot read their data)
  Data      ${dataDir}
  Servers   ${withoutPassword(servers.nats)}
            ${withoutPassword(servers.redis)}
            ${withoutPassword(servers.postgres)} (the passwords are in ${relative(process.cwd(), dataDir)})
  Services
${processes}

See every trigger as it is published:   ${sameSettings()}npm run nats:sub
See messages that could not be handled: ${sameSettings()}npm run dead-letters
Watch a story:                          ${sameSettings()}npm run demo
Kill any service (kill -9 <pid>): it is started again, and nothing acknowledged is lost. Ctrl-C stops everything.
`);
}

/** Environment variables that the demo needs to find this platform and its key. */
function sameSettings() {
  return ['AGENTLENS_HTTP_PORT', 'AGENTLENS_DATA_DIR']
    .filter((name) => process.env[name] !== undefined)
    .map((name) => `${name}=${process.env[name]} `)
    .join('');
}

function describeKey(variable, env, isFirstStart, file) {
  if (process.env[variable] !== undefined) return `the one in ${variable}`;
  return isFirstStart ? `${env[variable]} (kept in ${file}, shown this once)` : `in ${file}`;
}

/** Stops accepting requests, lets the services finish and end their event streams, then stops the servers. */
function stop(code) {
  stopping ??= (async () => {
    if (proxy !== undefined) console.log('\nFinishing what was taken, then stopping.');
    const closed = proxy?.stop();
    await Promise.all(services.map((service) => service.stop()));
    await closed;
    await servers?.stop();
    process.exit(code);
  })();
  return stopping;
}
