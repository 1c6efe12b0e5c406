// Takes Jest's exit code, reads its report and prints "<passed> <failed>".
import { existsSync, readFileSync } from 'node:fs';

const REPORT = 'reports/jest.json';

const suites = existsSync(REPORT) ? JSON.parse(readFileSync(REPORT, 'utf8')).testResults.map(countsOf) : [];
const sum = (of) => suites.reduce((total, suite) => total + suite[of], 0);
// Jest can fail without a failed test, for example during cleanup.
const unexplained = process.argv[2] !== '0' && sum('failed') === 0 ? 1 : 0;
console.log(`${sum('passed')} ${sum('failed') + unexplained}`);

/** Counts the tests of a suite. A suite that failed without a test counts as one failure. */
function countsOf({ status, assertionResults }) {
  const count = (wanted) => assertionResults.filter((test) => test.status === wanted).length;
  return { passed: count('passed'), failed: status === 'failed' ? Math.max(1, count('failed')) : 0 };
}
