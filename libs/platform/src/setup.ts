import './telemetry/on-load.ts';
import { loadConfig } from './config/config.ts';
import { ensureBootstrapKey, ensurePlatformKey, openPlatform } from './open-platform.ts';
import { explain } from './run-service.ts';

/**
 * Migration job of a deployment: brings schema, database logins, streams and the first admin key up to date, then
 * exits. Safe to repeat and to run concurrently.
 */
try {
  const platform = await openPlatform(loadConfig('setup'));
  const key = await ensureBootstrapKey(platform);
  const platformKey = await ensurePlatformKey(platform);
  await platform.close();
  process.stdout.write('The schema and the streams are up to date.\n');
  if (key !== null && platform.config.bootstrapKey === undefined) {
    process.stdout.write(`First admin key of tenant "default", shown this once:\n${key}\n`);
  }
  if (platformKey !== null && platform.config.platformKey === undefined) {
    process.stdout.write(`Key that creates tenants, shown this once:\n${platformKey}\n`);
  }
  if (key !== null || platformKey !== null) {
    process.stdout.write('Store new keys in a safe place, then delete this log.\n');
  }
} catch (error) {
  process.stderr.write(`${explain('setup', error)}\n`);
  process.exit(1);
}
