import './require-node.mjs';
import { existsSync } from 'node:fs';
import { build } from './build.mjs';

// The command line of this repository: `npm run agentlens -- rules list`. `npm start` keeps its build up to date.

const program = new URL('../apps/cli/dist/main.js', import.meta.url);
if (!existsSync(program)) await build();
await import(program.href);
