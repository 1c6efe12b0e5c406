// `npm run dev`: runs all services in one process, from the sources, and restarts on every change. The embedded
// Postgres keeps running between restarts. `npm run dev -- <service>` runs one service in the same way, on the servers
// of a running `npm run start:distributed` or those of DATABASE_URL, NATS_URL and REDIS_URL. Options for Node, such as
// --inspect, are passed on.
import './require-node.mjs';
import './end-with-npm.mjs';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, watch } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const services = readdirSync(join(root, 'services'));
const words = process.argv.slice(2);
const nodeOptions = words.filter((word) => word.startsWith('-'));
const [service = 'standalone', ...others] = words.filter((word) => !word.startsWith('-'));
/** Editors write a file in several steps. */
const DEBOUNCE_MS = 60;
/** A process that does not drain in time is killed, so that a hanging handler does not block the next restart. */
const DRAIN_MS = 1_500;

if (!services.includes(service) || others.length > 0) {
  console.error(`Usage: npm run dev -- [service] [--inspect]\nServices: ${services.join(', ')}`);
  process.exit(64);
}

const dataDir = resolve(process.env.AGENTLENS_DATA_DIR ?? join(root, '.agentlens/dev'));
let child;
/** The process that is shutting down. */
let ending;
let closing = false;
let restarting = false;

const { env, stop } = service === 'standalone' ? await standalone() : await single();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void close());
start();
watchSources();

/** The platform in one process. This process owns Postgres, because starting it takes longer than everything else. */
async function standalone() {
  if (process.env.DATABASE_URL !== undefined) return { env: {}, stop: async () => undefined };
  await import('./source-loader.mjs');
  const { startEmbeddedPostgres } = await import(join(root, 'libs/database/src/index.ts'));
  mkdirSync(dataDir, { recursive: true });
  const postgres = await startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), log: () => undefined });
  return { env: { DATABASE_URL: postgres.url, AGENTLENS_DATA_DIR: dataDir }, stop: postgres.stop };
}

/** One service next to a running `npm run start:distributed`, with its owner's logins. */
async function single() {
  const folder = resolve(process.env.AGENTLENS_DATA_DIR ?? join(root, '.agentlens'), 'distributed');
  const read = (file) => (existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8').trim() : undefined);
  const known = { DATABASE_URL: read('postgres-url'), NATS_URL: read('nats-url'), REDIS_URL: read('redis-url') };
  const missing = Object.keys(known).filter((name) => (process.env[name] ?? known[name]) === undefined);
  if (missing.length > 0) {
    console.error(`${missing.join(', ')} not set. Start "npm run start:distributed" first, or set them.`);
    process.exit(1);
  }
  return {
    env: {
      ...known,
      AGENTLENS_BUS: 'nats',
      AGENTLENS_STATE: 'redis',
      AGENTLENS_SECRET_KEY: read('secret-key'),
      AGENTLENS_HTTP_PORT: process.env.AGENTLENS_HTTP_PORT ?? '3499',
    },
    stop: async () => undefined,
  };
}

function start() {
  const loader = join(root, 'scripts/source-loader.mjs');
  const main = join(root, `services/${service}/src/main.ts`);
  const options = ['--import', loader, '--conditions=@agentlens/source', '--enable-source-maps', ...nodeOptions];
  child = spawn(process.execPath, [...options, main], {
    env: { ...env, ...process.env, ...(env.DATABASE_URL === undefined ? {} : { DATABASE_URL: env.DATABASE_URL }) },
    stdio: 'inherit',
  });
  const self = child;
  void reportReady(self);
  self.once('exit', (code) => {
    if (self === child && self !== ending) console.error(`\n${service} exited with ${code}. Waiting for a change ...`);
  });
}

/** Prints how long the start took when the service reports that it is ready. */
async function reportReady(running) {
  const startedMs = performance.now();
  const address = `http://127.0.0.1:${env.AGENTLENS_HTTP_PORT ?? process.env.AGENTLENS_HTTP_PORT ?? 3400}${service === 'standalone' ? '/api/health' : '/readyz'}`;
  while (running === child && running.exitCode === null) {
    const answer = await fetch(address).catch(() => undefined);
    if (answer?.ok) return console.log(`${service} ready in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
    await delay(50);
  }
}

function watchSources() {
  let timer;
  const changed = (_event, file) => {
    if (
      file === null ||
      !/\.(ts|lua|sql|json)$/.test(file) ||
      /\.(spec|contract|testing)\.ts$|(^|[/\\])(dist|test)[/\\]/.test(file)
    )
      return;
    clearTimeout(timer);
    timer = setTimeout(() => void restart(file), DEBOUNCE_MS);
  };
  for (const folder of ['libs', 'services'])
    for (const name of readdirSync(join(root, folder))) {
      const sources = join(root, folder, name, 'src');
      if (existsSync(sources)) watch(sources, { recursive: true }, changed);
    }
}

/** A change during a restart needs no other: the sources are read when the new process starts. */
async function restart(file) {
  console.log(`\n${file} changed, restarting ${service} ...`);
  if (restarting) return;
  restarting = true;
  await end(child);
  restarting = false;
  if (!closing) start();
}

/** Ends a process, gracefully first, because it saves its memory for the next one. */
function end(running) {
  if (running.exitCode !== null || running.signalCode !== null) return Promise.resolve();
  ending = running;
  return new Promise((done) => {
    const kill = setTimeout(() => running.kill('SIGKILL'), DRAIN_MS);
    running.once('exit', () => {
      clearTimeout(kill);
      done();
    });
    running.kill('SIGTERM');
  });
}

async function close() {
  if (closing) return;
  closing = true;
  await end(child);
  await stop();
  process.exit(0);
}
