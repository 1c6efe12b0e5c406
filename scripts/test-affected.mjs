// Tests only the workspaces that a change touches, and those that stand on them, as Nx's project graph knows them.
// Compares with main, or with the commit given: npm run test:affected -- HEAD~3
import { execFileSync, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const nx = createRequire(import.meta.url).resolve('nx/bin/nx.js');
const [base = 'main', ...rest] = process.argv.slice(2);

const ask = (...args) =>
  JSON.parse(
    execFileSync(process.execPath, [nx, ...args, '--json'], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, NX_DAEMON: 'false' },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );

const projects = ask('show', 'projects', '--affected', `--base=${base}`);
if (projects.length === 0) {
  console.log(`Nothing to test: no workspace differs from ${base}.`);
  process.exit(0);
}
console.log(`Affected since ${base}: ${projects.join(', ')}`);
const folders = projects.map((project) => `${ask('show', 'project', project).root}/`);
const { status } = spawnSync(process.execPath, ['scripts/test.mjs', ...folders, ...rest], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(status ?? 1);
