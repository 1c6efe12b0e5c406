// The Python environment of these tools, made when it is first asked for and kept.
import { dirname, join } from 'node:path';
import { environmentsOf, findPython } from '../../scripts/python-environments.mjs';

/** The folder of its programs. @throws Error where there is no Python 3.11 to 3.13 */
export function pythonPrograms() {
  const python = findPython();
  const made = python === undefined ? null : environmentsOf(python, [join(import.meta.dirname, 'python/tools.txt')]);
  if (made !== null) return dirname(made[0]);
  throw new Error('the OpenAPI tools need Python 3.11 to 3.13 with venv; PYTHON names an interpreter');
}
