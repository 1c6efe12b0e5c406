// Tests only the workspaces that differ from a commit, and those that depend on them, directly or not.
// Compares with main, or with a given commit: npm run test:affected -- HEAD~3
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [base = 'main', ...rest] = process.argv.slice(2);

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
const changed = [
  ...git('diff', '--name-only', '-z', base, '--'),
  ...git('ls-files', '--others', '--exclude-standard', '-z'),
];
const workspaces = globSync(['{libs,services}/*/package.json', 'apps/cli/package.json', 'proof/package.json'], {
  cwd: root,
}).map((file) => {
  const { name, dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(join(root, file), 'utf8'));
  return { name, folder: `${dirname(file)}/`, uses: Object.keys({ ...dependencies, ...devDependencies }) };
});

const affected = new Set(
  workspaces.filter(({ folder }) => changed.some((file) => file.startsWith(folder))).map(({ name }) => name),
);
// A set yields what is added while it is read.
for (const name of affected) for (const other of workspaces) if (other.uses.includes(name)) affected.add(other.name);

if (affected.size === 0) {
  console.log(`Nothing to test: no workspace differs from ${base}.`);
  process.exit(0);
}
console.log(`Affected since ${base}: ${[...affected].join(', ')}`);
const folders = workspaces.filter(({ name }) => affected.has(name)).map(({ folder }) => folder);
const { status } = spawnSync(process.execPath, ['scripts/test.mjs', ...folders, ...rest], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(status ?? 1);
