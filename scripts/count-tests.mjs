// Reads Jest's report and prints "<passed> <failed>". The argument is Jest's exit code.
// A suite that failed before its first test counts as one failure, and so does a failure of Jest itself.
import { existsSync, readFileSync } from 'node:fs';

const REPORT = 'reports/jest.json';

const suites = existsSync(REPORT) ? JSON.parse(readFileSync(REPORT, 'utf8')).testResults : [];
const passed = suites.reduce((sum, { assertionResults }) => sum + count(assertionResults, 'passed'), 0);
const failed = suites.reduce((sum, suite) => sum + failuresOf(suite), 0);
const unexplained = process.argv[2] !== '0' && failed === 0 ? 1 : 0;
console.log(`${passed} ${failed + unexplained}`);

function failuresOf({ status, assertionResults }) {
  const tests = count(assertionResults, 'failed');
  return status === 'failed' ? Math.max(1, tests) : tests;
}

function count(results, wanted) {
  return results.filter(({ status }) => status === wanted).length;
}
