// Checks the workflows of the code host with actionlint.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { needTool } from './go-tools.mjs';

const root = join(import.meta.dirname, '..');
const files = globSync('.github/workflows/*.yml', { cwd: root });
const { status } = spawnSync(needTool('actionlint'), files, { cwd: root, stdio: 'inherit' });
if (status === 0) console.log(`workflows: ${files.join(', ')} are valid`);
process.exitCode = status ?? 1;
