import { readFileSync } from 'node:fs';
import { basename, join, sep } from 'node:path';

const INSTALLED = 'agentlens';
const NPX_CACHE = '_npx';

/**
 * What a person types to run this program again. `npx` and this repository's `npm run agentlens` install no command of
 * that name.
 *
 * @param script path of the running script
 */
export function findProgramName(script: string): string {
  if (basename(script) === 'agentlens.mjs') return 'npm run agentlens --';
  const folders = script.split(sep);
  const cache = folders.lastIndexOf(NPX_CACHE);
  if (cache < 0) return INSTALLED;
  // npm's own record of what it was asked to run, below `_npx/HASH/`.
  const record = join(folders.slice(0, cache + 2).join(sep), 'package.json');
  try {
    const { [NPX_CACHE]: run } = JSON.parse(readFileSync(record, 'utf8')) as { _npx?: { packages?: unknown } };
    const [given] = Array.isArray(run?.packages) ? run.packages : [];
    return typeof given === 'string' ? `npx ${given}` : INSTALLED;
  } catch {
    // Another version of npm keeps no such record: the name of the installed command says enough.
    return INSTALLED;
  }
}

/** See findProgramName. Hints begin with it, so that they run as printed. */
export const PROGRAM = findProgramName(process.argv[1] ?? '');
