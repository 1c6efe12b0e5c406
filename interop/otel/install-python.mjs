// Makes the Python environments of the agents, each with the packages of `python/<name>.txt`:
//   node install-python.mjs [--newest] [environment ...]      PYTHON=python3.13 by default
// With --newest, without the pins; environments that are named after a version keep them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HERE, PYTHONS, pythonOf, VENVS } from './environments.mjs';

const python = process.env.PYTHON ?? 'python3.13';
const isNewest = process.argv.includes('--newest');
const given = process.argv.slice(2).filter((word) => word !== '--newest');
const names = given.length > 0 ? given : PYTHONS;
for (const [index, name] of names.entries()) {
  console.log(`${index + 1}/${names.length} ${name}`);
  execFileSync(python, ['-m', 'venv', join(VENVS, name)], { stdio: 'inherit' });
  const requirements = join(HERE, 'python', `${name}.txt`);
  const isPinned = !isNewest || /\d/.test(name);
  const packages = isPinned ? ['--requirement', requirements] : namesIn(requirements);
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
  execFileSync(pythonOf(name), install, { stdio: 'inherit' });
}

/** The packages of a requirements file, without their versions. */
function namesIn(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line) => /^[A-Za-z][\w.[\],-]*(?===)/.exec(line)?.[0] ?? []);
}
