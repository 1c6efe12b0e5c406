// Reads a report of Jest. `count-tests.mjs EXIT_CODE [REPORT]` prints "<passed> <failed>", with --failed-suites the files
// that failed, one in a line.
import { existsSync, readFileSync } from 'node:fs';

const [exitCode, report = 'reports/jest.json'] = process.argv.slice(2);

const suites = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults.map(countsOf) : [];
if (exitCode === '--failed-suites') {
  for (const { file, failed } of suites) if (failed > 0) console.log(file);
} else {
  const sum = (of) => suites.reduce((total, suite) => total + suite[of], 0);
  // Jest can fail without a failed test, for example during cleanup.
  const unexplained = exitCode !== '0' && sum('failed') === 0 ? 1 : 0;
  console.log(`${sum('passed')} ${sum('failed') + unexplained}`);
}

/** Counts the tests of a suite. A suite that failed without a test counts as one failure. */
function countsOf({ name, status, assertionResults }) {
  const count = (wanted) => assertionResults.filter((test) => test.status === wanted).length;
  return { file: name, passed: count('passed'), failed: status === 'failed' ? Math.max(1, count('failed')) : 0 };
}
