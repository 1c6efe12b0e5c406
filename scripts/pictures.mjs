import './require-node.mjs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { installOnce } from './install-once.mjs';

// Takes all pictures of README and documentation: npm run pictures. The console must be built.
const root = fileURLToPath(new URL('..', import.meta.url));
await build();
installOnce(`${root}apps/console`, 'what the console is built and tested with');
const { status } = spawnSync(process.execPath, ['apps/console/test/pictures.ts'], { cwd: root, stdio: 'inherit' });
process.exit(status ?? 1);
