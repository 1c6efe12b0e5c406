import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PENDING, SHELF } from './places.mjs';

const script = fileURLToPath(new URL('../make-packages.mjs', import.meta.url));

/** Before the platform starts: requests for packages that do not exist yet wait instead of failing. */
export function promisePackages() {
  if (existsSync(join(SHELF, 'index.json'))) return;
  mkdirSync(dirname(PENDING), { recursive: true });
  writeFileSync(PENDING, '');
}

/** Makes the packages in a process of low priority, if their sources have changed. It ends with this process. */
export function makePackagesLater() {
  if (existsSync(PENDING)) console.log('Making the packages that this address serves, once: about 15 seconds.');
  const child = spawn(process.execPath, [script, '--if-changed'], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  child.once('error', (error) => console.error(`The packages could not be made: ${error.message}`));
  process.once('exit', () => child.kill());
}
