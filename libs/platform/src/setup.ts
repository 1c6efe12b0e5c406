import './telemetry/on-load.ts';
import { hasFirstKey } from './auth/bootstrap-key.ts';
import { loadConfig } from './config/config.ts';
import { ensureBootstrapKey, ensurePlatformKey, openPlatform } from './open-platform.ts';
import { explain } from './run-service.ts';

/**
 * Migration job of a deployment: brings schema, database logins, streams and given first keys up to date, then exits.
 * A container keeps its log, so keys are printed only on request. Safe to repeat and to run concurrently.
 */
try {
  const platform = await openPlatform(loadConfig('setup'));
  const { bootstrapKey, platformKey, printFirstKeys } = platform.config;
  const made: string[] = [];
  const ensure = async (given: string | undefined, create: typeof ensureBootstrapKey, title: string) => {
    const key = given !== undefined || printFirstKeys ? await create(platform) : null;
    if (key !== null && given === undefined) made.push(`${title}, shown this once:\n${key}\n`);
  };
  await ensure(bootstrapKey, ensureBootstrapKey, 'First admin key of tenant "default"');
  await ensure(platformKey, ensurePlatformKey, 'Key that creates tenants');
  const isReady = await hasFirstKey(platform.database('query'), platform.clock);
  await platform.close();
  process.stdout.write('The schema and the streams are up to date.\n');
  for (const key of made) process.stdout.write(key);
  if (made.length > 0) process.stdout.write('Store new keys in a safe place, then delete this log.\n');
  if (!isReady) {
    process.stdout.write(
      'There is no admin key yet. To create it, run in a container of query: node libs/platform/dist/first-key.js\n',
    );
  }
} catch (error) {
  process.stderr.write(`${explain('setup', error)}\n`);
  process.exit(1);
}
