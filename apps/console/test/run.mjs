import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { installOnce } from '../../../scripts/install-once.mjs';

// Everything about the console that needs its own dependencies or a browser: types and lint, then tests in a real Chromium.
// With files as arguments, only their tests. Files whose tests failed are listed in reports/console-failed.txt.

const here = fileURLToPath(new URL('..', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));
const given = process.argv.slice(2);
const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: 'inherit' });

try {
  installOnce(here, 'what the console is built and tested with');
  run(process.execPath, [`${root}scripts/build.mjs`], root);
  if (given.length === 0) check();
  process.exitCode = runTests();
} catch (error) {
  // The command has said itself what is wrong.
  process.exit(error.status ?? 1);
}

function check() {
  run('npm', ['run', '--silent', 'typecheck'], here);
  // Here and not with the rest: the types that it reads are installed here.
  const lint = ['oxlint', '-c', 'oxlint.json', '--type-aware', '--deny-warnings'];
  run(process.execPath, [`${root}scripts/tools.mjs`, ...lint], here);
}

/** One file after the other, each in a process of its own: a browser and a platform are enough for two cores. */
function runTests() {
  const files = given.length > 0 ? given : globSync(`${here}test/**/*.test.ts`).sort();
  const failed = files.filter((file) => {
    const { status } = spawnSync(process.execPath, ['--test', file], { cwd: root, stdio: 'inherit' });
    return status !== 0;
  });
  mkdirSync(`${root}reports`, { recursive: true });
  writeFileSync(`${root}reports/console-failed.txt`, failed.map((file) => `${file}\n`).join(''));
  return failed.length === 0 ? 0 : 1;
}
