// Tests only the workspaces that a change touches, and those that depend on them, according to Nx's project graph.
// Compares with main, or with a given commit: npm run test:affected -- HEAD~3
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const nx = createRequire(import.meta.url).resolve('nx/bin/nx.js');
const [base = 'main', ...rest] = process.argv.slice(2);

const projects = JSON.parse(
  execFileSync(process.execPath, [nx, 'show', 'projects', '--affected', `--base=${base}`, '--json'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NX_DAEMON: 'false' },
    stdio: ['ignore', 'pipe', 'inherit'],
  }),
);
if (projects.length === 0) {
  console.log(`Nothing to test: no workspace differs from ${base}.`);
  process.exit(0);
}
console.log(`Affected since ${base}: ${projects.join(', ')}`);
const folders = globSync('{libs,services,apps}/*/package.json', { cwd: root })
  .concat('proof/package.json')
  .filter((file) => projects.includes(JSON.parse(readFileSync(join(root, file), 'utf8')).name))
  .map((file) => `${dirname(file)}/`);
const { status } = spawnSync(process.execPath, ['scripts/test.mjs', ...folders, ...rest], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(status ?? 1);
