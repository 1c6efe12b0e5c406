import './require-node.mjs';
import './end-with-npm.mjs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { makePackagesLater, promisePackages } from './packages/in-background.mjs';

// Builds what is missing, then runs the whole platform in this process. With --packages (`npm start`) also makes the
// packages that the platform serves, in the background once it is ready.
const packages = process.argv.includes('--packages');
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
if (packages) makePackagesLater();
