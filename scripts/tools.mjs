// Runs a tool that neither running nor testing needs: node scripts/tools.mjs biome lint . The tools are a folder with a
// lockfile of its own, so that `npm ci` does not fetch them; the first command that needs one installs them.
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installOnce } from './install-once.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'tools');

/** Installs the tools if needed. Returns their folder, and an environment that finds their commands. */
export function tools() {
  installOnce(folder, 'the tools for linting, protocols and manifests');
  const bin = join(folder, 'node_modules/.bin');
  const path = [bin, join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  const typed = join(bin, process.platform === 'win32' ? 'tsgolint.cmd' : 'tsgolint');
  return { folder, env: { ...process.env, PATH: path, OXLINT_TSGOLINT_PATH: typed } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [command, ...args] = process.argv.slice(2);
  if (command === undefined) {
    console.error('Usage: node scripts/tools.mjs COMMAND [ARGUMENT...], for example: biome lint .');
    process.exit(64);
  }
  const { env } = tools();
  const child = spawn(command, args, { stdio: 'inherit', env, shell: process.platform === 'win32' });
  child.once('error', (error) => {
    console.error(error.message);
    process.exit(1);
  });
  child.once('exit', (code) => process.exit(code ?? 1));
}
