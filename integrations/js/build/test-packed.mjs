// Installs the adapters as they are published, into an empty folder, and runs one scenario of each there:
// node integrations/js/build/test-packed.mjs [adapter…]
import { execFile, spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makePackage } from '../../../libs/sdk/build/package.mjs';
import { makeAdapterPackage } from './package.mjs';

const workspace = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** One that fails where the guard, its types' shapes, or the one context of all adapters did not make it into the package. */
const SCENARIO =
  '^(rejects one of two concurrent calls, gives the model the reason and continues|refuses a call, shows the client why)';

const all = globSync('*/src/*.ts', { cwd: workspace }).map((file) => file.split('/')[0]);
const asked = process.argv.slice(2);
const adapters = [...new Set(all)].filter(
  (name) => !['conformance', 'guard'].includes(name) && (asked.length === 0 || asked.includes(name)),
);

const home = await mkdtemp(join(tmpdir(), 'agentlens-packed-'));
try {
  await install();
  await linkFrameworks();
  process.exitCode = await test();
} finally {
  await rm(home, { recursive: true });
}

async function install() {
  const tarballs = [await makePackage(home)];
  for (const adapter of adapters) tarballs.push(await makeAdapterPackage(adapter, home));
  await writeFile(join(home, 'package.json'), '{ "private": true, "type": "module" }\n');
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
  await run('npm', ['install', ...options, ...tarballs], { cwd: home });
}

/** The frameworks are installed already; what they import is found from where they are. */
async function linkFrameworks() {
  const homes = [workspace, ...adapters.map((adapter) => join(workspace, adapter))];
  for (const from of homes.map((folder) => join(folder, 'node_modules'))) {
    for (const name of await readdir(from).catch(() => [])) {
      if (name.startsWith('.') || name === '@agentlens') continue;
      if (!name.startsWith('@')) await link(join(from, name), join(home, 'node_modules', name));
      else
        for (const scoped of await readdir(join(from, name)))
          await link(join(from, name, scoped), join(home, 'node_modules', name, scoped));
    }
  }
}

async function link(from, to) {
  await mkdir(dirname(to), { recursive: true });
  await symlink(from, to, 'junction').catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** The kit beside the packages, without the condition that finds their sources. */
async function test() {
  const beside = join(home, 'integrations/js');
  for (const folder of ['conformance', ...adapters.map((adapter) => `${adapter}/test`)])
    await cp(join(workspace, folder), join(beside, folder), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    });
  const specs = globSync('*/test/*.spec.ts', { cwd: beside });
  const flags = ['--disable-warning=ExperimentalWarning', '--test-concurrency=2'];
  const child = spawn(process.execPath, [...flags, `--test-name-pattern=${SCENARIO}`, '--test', ...specs], {
    cwd: beside,
    stdio: 'inherit',
  });
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
