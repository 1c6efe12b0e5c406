// Runs the whole test suite, or with --unit only the tests that need no server. Passes other arguments to Jest. Without
// a path among them it also tests the Python package, if Python is installed (PYTHON_TESTS=off skips that), and shows
// nothing that tests print.
import './require-node.mjs';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installOnce } from './install-once.mjs';
import { testPython } from './test-python.mjs';

// Loaded by the Node that the first import may have handed over to, which reads TypeScript.
const { dockerAnswers, dockerMayAnswer } = await import('../libs/testing/src/servers/docker.ts');
const { findProgram } = await import('../libs/testing/src/servers/find-program.ts');
const { NATS_PACKAGE } = await import('../libs/testing/src/servers/nats.ts');

const INTERRUPTED = 130;
const root = fileURLToPath(new URL('..', import.meta.url));
const given = process.argv.slice(2);
const unit = given.includes('--unit');
const args = given.filter((argument) => argument !== '--unit');

const selected = args.some((argument) => !argument.startsWith('-'));

if (!unit) await prepareServers();
const jestExit = await runJest();
if (jestExit === INTERRUPTED) process.exit(INTERRUPTED);
const pythonPassed = selected || process.env.PYTHON_TESTS === 'off' || (await testPython({ unit }));
process.exit(jestExit === 0 && !pythonPassed ? 1 : jestExit);

/**
 * Finds or downloads the servers once before the tests, so that a machine that cannot run them reports that at once.
 */
async function prepareServers() {
  if (await dockerMayAnswer()) installOnce(join(root, 'tools/containers'), 'what starts servers in containers');
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
  // Jest's list options consume all following values, so the caller's patterns come first. A failed test may leave a
  // server or pool open. Its report matters, and waiting for it does not.
  const quiet = selected || args.includes('--watch') ? [] : ['--silent'];
  const jestArguments = [...args, '--rootDir', root, '--forceExit', ...quiet, ...selection];
  const child = spawn(
    process.execPath,
    ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', jest, ...jestArguments],
    {
      stdio: 'inherit',
      cwd: root,
    },
  );
  let interrupted = false;
  const stop = (signal) => {
    interrupted = true;
    child.kill(signal);
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      // From here on a signal ends this process, also while it waits for the tests of the Python package.
      process.off('SIGINT', stop).off('SIGTERM', stop);
      resolve(interrupted ? INTERRUPTED : signal ? 1 : (code ?? 1));
    });
  });
}
