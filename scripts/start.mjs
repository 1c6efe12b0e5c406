import './require-node.mjs';
import './end-with-npm.mjs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';

// Builds what is missing, then runs the whole platform in this process.
try {
  await build();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
const main = fileURLToPath(new URL('../services/standalone/dist/main.js', import.meta.url));
process.argv[1] = main;
await import(main);
