// Sends a fresh platform what its own document allows, and what it does not, and holds the answers against the document.
//   node interop/openapi/fuzz.mjs [examples per operation, default 100] [--answers] [--accept]
// --answers: whether answers are as documented, and not which requests are taken: that depends on the values that are drawn.
// What is found beyond accepted.json fails. --accept writes what is found there; give each a reason in README.md.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startPlatform } from '../platform.mjs';
import { pythonPrograms } from './environment.mjs';

const HERE = import.meta.dirname;
const examples = process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? '100';
const accepting = process.argv.includes('--accept');
const onlyAnswers = process.argv.includes('--answers');

/**
 * Answers that never end, a second agent at work, what would end the access or the decisions of all the others, and
 * what answers with a page for the browser or asks an identity provider.
 */
const LEFT_OUT = [
  ...['openStream', 'openAlertStream', 'openControlStream', 'startDemo', 'createOrder'],
  ...['startSignIn', 'finishSignIn', 'testIdentityProvider'],
];
/** They need declared dependencies between operations, which the document does not have. */
const NOT_CHECKED = ['use_after_free', 'ensure_resource_availability', 'ignored_auth', 'object_level_authorization'];

const notChecked = onlyAnswers ? [...NOT_CHECKED, 'positive_data_acceptance', 'negative_data_rejection'] : NOT_CHECKED;

const schemathesis = join(pythonPrograms(), 'schemathesis');
const platform = await startPlatform('in one process');
try {
  const found = spawn(
    schemathesis,
    [
      ...['run', `${platform.url}/openapi.json`, '--header', `Authorization: Bearer ${platform.key}`],
      ...['--phases', 'examples,coverage,fuzzing', '--seed', '1', '--max-examples', examples],
      ...['--checks', 'all', '--exclude-checks', notChecked.join(',')],
      ...LEFT_OUT.flatMap((id) => ['--exclude-operation-id', id]),
      ...['--baseline', join(HERE, 'accepted.json'), ...(accepting ? ['--baseline-update'] : [])],
      ...['--request-timeout', '10', '--continue-on-failure', '--generation-database', 'none', '--no-color'],
      ...['--warnings', 'off'],
    ],
    { stdio: 'inherit', cwd: HERE },
  );
  const [code] = await once(found, 'exit');
  process.exitCode = code ?? 1;
} finally {
  await platform.stop();
}
