// Given how Jest ended, reads its report and prints "<passed> <failed>". A few suites that failed are run once more, one after the other:
// what fails beside other work on a slow machine and passes alone is named, and counts as passed; what fails twice failed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** More than this is no accident. */
const MOST_SUITES_AGAIN = 6;
const REPORT = 'reports/jest.json';
const AGAIN = 'reports/jest-again.json';
const root = fileURLToPath(new URL('..', import.meta.url));

const first = suites(REPORT);
const broken = first.filter(({ failed }) => failed > 0);
const settled =
  broken.length > 0 && broken.length <= MOST_SUITES_AGAIN
    ? [...first.filter(({ failed }) => failed === 0), ...again(broken)]
    : first;
// Jest may fail where no test did, for instance while it tidies up.
const unexplained = process.argv[2] !== '0' && broken.length === 0 ? 1 : 0;
const sum = (of) => settled.reduce((total, suite) => total + suite[of], 0);
console.log(`${sum('passed')} ${sum('failed') + unexplained}`);

/** What each suite came to; one that broke off without a test is one failure. */
function suites(file) {
  if (!existsSync(file)) return [];
  return JSON.parse(readFileSync(file, 'utf8')).testResults.map(({ name, status, assertionResults }) => {
    const count = (wanted) => assertionResults.filter((test) => test.status === wanted).length;
    const failed = count('failed');
    return { name, passed: count('passed'), failed: status === 'failed' ? Math.max(1, failed) : failed };
  });
}

function again(broken) {
  const names = broken.map(({ name }) => name);
  console.error(`\n${names.length} suites failed; once more, one after the other:\n${names.join('\n')}`);
  const flags = ['--runTestsByPath', '--runInBand', '--json', `--outputFile=${AGAIN}`];
  spawnSync(process.execPath, ['scripts/test.mjs', ...names, ...flags], { cwd: root, stdio: ['ignore', 2, 2] });
  const second = suites(AGAIN);
  // A suite that the second report does not know stays what it was.
  const results = broken.map((suite) => second.find(({ name }) => name === suite.name) ?? suite);
  for (const { name, failed } of results) {
    console.error(failed === 0 ? `passed alone, failed beside others: ${name}` : `failed twice: ${name}`);
  }
  return results;
}
