// Finds Python on this machine and creates environments of pinned packages, which are kept.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const CANDIDATES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python'];
const SUPPORTED = 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) and __import__("venv") else 1)';
const ENVIRONMENTS = join(import.meta.dirname, '../python/scripts/environments.py');

/** Returns an interpreter of 3.11 to 3.13 with venv, or undefined. The variable PYTHON can name one. */
export function findPython() {
  return [process.env.PYTHON ?? '', ...CANDIDATES].find(
    (name) => name !== '' && spawnSync(name, ['-c', SUPPORTED], { stdio: 'ignore' }).status === 0,
  );
}

/**
 * Returns the interpreter of each environment, by name or by its file of pinned versions; null if they could not be
 * created.
 */
export function environmentsOf(python, names) {
  const made = spawnSync(python, [ENVIRONMENTS, ...names], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return made.status === 0 ? made.stdout.trim().split('\n') : null;
}
