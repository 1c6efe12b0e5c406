// Makes the Python environments of the agents, each with the packages of `python/<name>.txt`:
//   node install-python.mjs [environment ...]      PYTHON=python3.13 by default
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { HERE, PYTHONS, pythonOf, VENVS } from './environments.mjs';

const python = process.env.PYTHON ?? 'python3.13';
const names = process.argv.length > 2 ? process.argv.slice(2) : PYTHONS;
for (const [index, name] of names.entries()) {
  console.log(`${index + 1}/${names.length} ${name}`);
  execFileSync(python, ['-m', 'venv', join(VENVS, name)], { stdio: 'inherit' });
  const requirements = join(HERE, 'python', `${name}.txt`);
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', requirements];
  execFileSync(pythonOf(name), install, { stdio: 'inherit' });
}
