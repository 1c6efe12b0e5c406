// Tests the Python package against a platform that the tests start themselves.
//   node scripts/test-python.mjs [--unit] [--checks] [--required] [pytest's arguments]
// --unit: only tests that need no platform. --checks: also lint, types, and the wheel in an empty environment.
// --required: fails without Python; otherwise reports that and passes. PYTHON names an interpreter (3.11 to 3.13).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { environmentsOf, findPython } from './python-environments.mjs';

const INTERRUPTED = 130;
const folder = join(import.meta.dirname, '../python');

/** Returns true if everything passed, or if Python is neither installed nor required. */
export async function testPython({ unit = false, checks = false, required = false, args = [] } = {}) {
  const python = findPython();
  const environments =
    python === undefined ? null : environmentsOf(python, unit && !required ? ['--existing', 'a'] : ['a', 'b']);
  if (environments === null) {
    const why = python === undefined ? 'Python 3.11 to 3.13 is not installed' : 'its environment could not be created';
    console.log(`agentlens: skipped the tests of the Python package: ${why}`);
    return !required;
  }
  if (!unit) await build();
  const [a, b] = environments;
  /** @type {[string, string, string[]][]} */
  const suites = [
    ['unit tests', a, ['tests/unit']],
    ...(unit ? [] : [['frameworks of environment a', a, ['tests/conformance']]]),
    ...(unit
      ? []
      : [
          [
            'frameworks of environment b',
            b,
            ['tests/conformance', 'tests/unit/test_compat.py', 'tests/unit/test_stacked_models.py'],
          ],
        ]),
  ];
  const passed = suites.map(([name, interpreter, paths]) =>
    step(name, interpreter, '-m', 'pytest', '-q', ...paths, ...args),
  );
  if (checks) passed.push(...checkPackage(a));
  return passed.every(Boolean);
}

function checkPackage(python) {
  const work = mkdtempSync(join(tmpdir(), 'agentlens-wheel-'));
  try {
    const bare = join(work, 'bare');
    const say = 'import agentlens; print("imported agentlens", agentlens.__version__)';
    return [
      step('lint', python, '-m', 'ruff', 'check', '.'),
      step('format', python, '-m', 'ruff', 'format', '--check', '.'),
      step('types', python, '-m', 'mypy'),
      step('wheel', python, '-m', 'build', '--no-isolation', '--wheel', '--outdir', work) &&
        step('bare environment', python, '-m', 'venv', bare) &&
        step('install', join(bare, 'bin/pip'), 'install', '--quiet', ...wheelsIn(work)) &&
        step('import', join(bare, 'bin/python'), '-c', say),
    ];
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function wheelsIn(work) {
  return readdirSync(work)
    .filter((file) => file.endsWith('.whl'))
    .map((file) => join(work, file));
}

function step(name, program, ...args) {
  console.log(`agentlens: Python, ${name}`);
  const { status, signal } = spawnSync(program, args, { cwd: folder, stdio: 'inherit' });
  if (signal !== null) process.exit(INTERRUPTED);
  return status === 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const given = process.argv.slice(2);
  const flag = (name) => given.includes(`--${name}`);
  const args = given.filter((argument) => !['--unit', '--checks', '--required'].includes(argument));
  const passed = await testPython({ unit: flag('unit'), checks: flag('checks'), required: flag('required'), args });
  process.exit(passed ? 0 : 1);
}
