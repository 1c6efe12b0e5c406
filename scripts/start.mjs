import './require-node.mjs';
import './end-with-npm.mjs';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { makePackagesLater, promisePackages } from './packages/in-background.mjs';

// Builds what is missing, then runs the whole platform in this process. With --packages (`npm start`) also makes the
// packages that the platform serves, in the background once it is ready.
const packages = process.argv.includes('--packages');
const dataDir = resolve(process.env.AGENTLENS_DATA_DIR ?? '.agentlens');
const isFirst = packages && !existsSync(join(dataDir, 'api-key'));
try {
  await build();
  if (packages) promisePackages();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
const main = fileURLToPath(new URL('../services/standalone/dist/main.js', import.meta.url));
process.argv[1] = main;
await import(main);
if (isFirst) {
  const [seconds, megabytes] = [process.uptime(), process.memoryUsage().rss / 2 ** 20];
  console.log(`First start: ${seconds.toFixed(1)} s, ${megabytes.toFixed(0)} MB of memory beside Postgres. Stored: database and keys in
${dataDir} (from 50 MB, grows with events); packages in node_modules (400 MB); built code in the dist folders (20 MB).
`);
}
if (packages) makePackagesLater();
