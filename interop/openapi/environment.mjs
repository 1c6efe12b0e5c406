// The Python environment of these tools, made when it is first asked for and kept (python/scripts/environments.py).
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';

const HERE = import.meta.dirname;
const CANDIDATES = [process.env.PYTHON ?? '', 'python3', 'python3.13', 'python3.12', 'python3.11', 'python'];

/** The folder of its programs. @throws Error where there is no Python 3.11 to 3.13 */
export function pythonPrograms() {
  for (const python of CANDIDATES.filter((name) => name !== '')) {
    const environments = join(HERE, '../../python/scripts/environments.py');
    const made = spawnSync(python, [environments, join(HERE, 'python/tools.txt')], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (made.status === 0) return dirname(made.stdout.trim());
  }
  throw new Error('the OpenAPI tools need Python 3.11 to 3.13 with venv; PYTHON names an interpreter');
}
