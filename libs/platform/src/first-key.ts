import { openDatabase } from '@agentlens/database';
import { bootstrapKey, bootstrapPlatformKey } from './auth/bootstrap-key.ts';
import { loadConfig } from './config/config.ts';
import { ConfigError } from './config/config-error.ts';
import { explain } from './run-service.ts';

const KINDS = {
  admin: { create: bootstrapKey, title: 'admin key of tenant "default"' },
  platform: { create: bootstrapPlatformKey, title: 'key that creates tenants' },
} as const;

/**
 * Creates the first key of a deployment and prints it, once: node libs/platform/dist/first-key.js [admin|platform].
 * Runs in a container of query, whose database login may create keys. No container's log contains the output of `exec`.
 */
async function main(word = 'admin'): Promise<void> {
  const kind = Object.entries(KINDS).find(([name]) => name === word)?.[1];
  if (kind === undefined)
    throw new ConfigError(`"${word}" is not a kind of key. Use "admin" (the default) or "platform"`);
  const { database: server } = loadConfig('query');
  if (server.kind !== 'external') throw new ConfigError('Set DATABASE_URL to the database of the deployment');
  const database = openDatabase({ url: server.url, role: 'query', applicationName: 'agentlens-first-key' });
  try {
    const key = await kind.create(database, { now: Date.now }, undefined);
    if (key === null) throw new ConfigError(`There is a live ${kind.title} already: create further keys with that one`);
    process.stderr.write(`First ${kind.title}, shown this once:\n`);
    process.stdout.write(`${key}\n`);
  } finally {
    await database.close();
  }
}

try {
  await main(process.argv[2]);
} catch (error) {
  process.stderr.write(`${explain('first-key', error)}\n`);
  process.exitCode = 1;
}
