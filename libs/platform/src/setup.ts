import './telemetry/on-load.ts';
import { hasFirstKey } from './auth/bootstrap-key.ts';
import { loadConfig } from './config/config.ts';
import { ensureBootstrapKey, ensurePlatformKey, openPlatform } from './open-platform.ts';
import { explain } from './run-service.ts';

/**
 * Migration job of a deployment: brings schema, database logins, streams and given first keys up to date, then exits.
 * Prints no key, because a container keeps its log. Safe to repeat and to run concurrently.
 */
try {
  const platform = await openPlatform(loadConfig('setup'));
  const { bootstrapKey, platformKey } = platform.config;
  if (bootstrapKey !== undefined) await ensureBootstrapKey(platform);
  if (platformKey !== undefined) await ensurePlatformKey(platform);
  const isReady = await hasFirstKey(platform.database('query'), platform.clock);
  await platform.close();
  process.stdout.write('The schema and the streams are up to date.\n');
  if (!isReady) {
    process.stdout.write(
      'There is no admin key yet. To create it, run in a container of query: node libs/platform/dist/first-key.js\n',
    );
  }
} catch (error) {
  process.stderr.write(`${explain('setup', error)}\n`);
  process.exit(1);
}
