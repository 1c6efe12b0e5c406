// A separate process that does not receive the terminal's Ctrl-C: NATS and Redis stop after the services that need
// them, or when the parent process is killed.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startEmbeddedPostgres } from '../../libs/database/dist/index.js';
import { startNats } from '../../libs/testing/src/servers/nats.ts';
import { startRedis } from '../../libs/testing/src/servers/redis.ts';
import { freePort } from '../../libs/testing/src/servers/server-process.ts';
import { keptSecret } from './kept-secret.mjs';

const dataDir = resolve(process.argv[2]);
const folder = (name) => {
  mkdirSync(join(dataDir, name), { recursive: true });
  return join(dataDir, name);
};

// Any user of this machine can connect to a loopback port.
const password = (name) => keptSecret(join(dataDir, `${name}-password`), () => `p${randomBytes(24).toString('hex')}`);

const started = [];
let stopping;
process.once('disconnect', stop);
process.on('message', (message) => {
  if (message === 'stop') void stop();
});

try {
  const [postgres, nats, redis] = await Promise.all([
    keep(startEmbeddedPostgres({ dataDir: folder('postgres') })),
    keep(
      startNats({
        port: await freePort(4222),
        strictPings: true,
        dataDir: folder('nats'),
        config: `${syncAlways(folder('nats'))}\n${natsAccounts()}`,
      }),
    ),
    keep(startRedis({ port: await freePort(6379), password: password('redis'), dataDir: folder('redis') })),
  ]);
  process.send({ postgres: postgres.url, nats: asUser(nats.url, 'agentlens', password('nats')), redis: redis.url });
} catch (error) {
  process.send?.({ error: error.message });
  await stop();
}

/** An acknowledged message is on the disk, not only in the page cache. */
function syncAlways(natsFolder) {
  return `jetstream { store_dir: "${join(natsFolder, 'data')}", sync_interval: always }`;
}

/** The users of the shipped configuration, each with a password that is kept here. */
function natsAccounts() {
  const file = readFileSync(new URL('../../deploy/nats/server.conf', import.meta.url), 'utf8');
  const accounts = file.slice(file.indexOf('\naccounts {')).replace(/#.*/g, '');
  return accounts
    .replace('$NATS_PLATFORM_USER', 'agentlens')
    .replace('$NATS_PLATFORM_PASSWORD', password('nats'))
    .replace(/\$NATS_(\w+)_PASSWORD/g, (_, name) => password(`nats-${name.toLowerCase().replaceAll('_', '-')}`));
}

function asUser(url, user, secret) {
  return url.replace('://', `://${user}:${secret}@`);
}

async function keep(starting) {
  const server = await starting;
  started.push(server);
  return server;
}

function stop() {
  stopping ??= Promise.allSettled(started.map((server) => server.stop())).then(() => process.exit(0));
  return stopping;
}
