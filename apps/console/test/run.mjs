import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { installOnce } from '../../../scripts/install-once.mjs';

// Everything about the console that needs its own dependencies or a browser: types and lint, then tests in a real Chromium.

const here = fileURLToPath(new URL('..', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: 'inherit' });

try {
  installOnce(here, 'what the console is built and tested with');
  run(process.execPath, [`${root}scripts/build.mjs`], root);
  run('npm', ['run', '--silent', 'typecheck'], here);
  // Here and not with the rest: the types that it reads are installed here.
  const lint = ['oxlint', '-c', 'oxlint.json', '--type-aware', '--deny-warnings'];
  run(process.execPath, [`${root}scripts/tools.mjs`, ...lint], here);
  run(process.execPath, ['--test', '--test-concurrency=1', `${here}test/**/*.test.ts`], root);
} catch (error) {
  // The command has said itself what is wrong.
  process.exit(error.status ?? 1);
}
