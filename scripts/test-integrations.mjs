// Runs the conformance kit against the real frameworks: npm run test:integrations [adapter…] [--write] With --write,
// updates the tables in the documentation with the results. Without it, the tables must match the results. The adapters
// are a separate workspace, which is installed here when its lockfile or the requested adapters have changed.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPlatform } from '../integrations/js/build/start-platform.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const workspace = join(root, 'integrations/js');
const stampFile = join(workspace, 'node_modules/.agentlens-installed.json');
const adapters = globSync('*/package.json', { cwd: workspace }).map((file) => file.split('/')[0]);

const write = process.argv.includes('--write');
const names = process.argv.slice(2).filter((argument) => argument !== '--write');
const unknown = names.filter((name) => !adapters.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown adapter ${unknown.join(', ')}. Known: ${adapters.join(', ')}.`);
  process.exit(1);
}

install();
process.exit(await all());

async function all() {
  // Checks all guards against the type declarations of their frameworks, which only this workspace has.
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'integrations/js/tsconfig.json'];
  const types = names.length === 0 ? await run(tsc, root) : 0;
  const tests = await testOnPlatform();
  const packed = await run(['build/test-packed.mjs', ...names]);
  // With only some adapters, the table would be incomplete.
  const table =
    names.length === 0 && tests === 0 ? await run(['conformance/src/table.ts', ...(write ? ['--write'] : [])]) : 0;
  return types || tests || packed || table;
}

async function testOnPlatform() {
  console.log('agentlens: starting a platform for the tests');
  const { url, key, stop } = await startPlatform();
  try {
    return await test({ AGENTLENS_KIT_URL: url, AGENTLENS_KIT_KEY: key });
  } finally {
    await stop();
  }
}

/** Skipped if the requested adapters are already installed. */
function install() {
  const lock = createHash('sha256')
    .update(readFileSync(join(workspace, 'package-lock.json')))
    .digest('hex');
  const stamp = existsSync(stampFile) ? JSON.parse(readFileSync(stampFile, 'utf8')) : { lock: '', names: [] };
  const covered = stamp.names.length === 0 || (names.length > 0 && names.every((name) => stamp.names.includes(name)));
  if (stamp.lock === lock && covered) return;
  console.log(`agentlens: installing the frameworks of ${names.length === 0 ? 'all adapters' : names.join(', ')}`);
  const chosen = names.flatMap((name) => ['-w', name]);
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', ...chosen];
  execFileSync('npm', args, { cwd: workspace, stdio: 'inherit', shell: process.platform === 'win32' });
  writeFileSync(stampFile, JSON.stringify({ lock, names }));
}

function test(env) {
  const folders = names.length === 0 ? ['*'] : names;
  const specs = folders.flatMap((name) => globSync(`${name}/{src,test}/**/*.spec.ts`, { cwd: workspace }));
  const flags = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning', '--test-concurrency=2'];
  return run([...flags, '--test', ...specs], workspace, env);
}

function run(args, cwd = workspace, env = {}) {
  const child = spawn(process.execPath, args, { cwd, stdio: 'inherit', env: { ...process.env, ...env } });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
