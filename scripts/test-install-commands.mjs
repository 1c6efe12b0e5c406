// Runs every install and npx command of README, documentation and console as printed, each in an empty folder and with an
// empty home, against a platform that this starts, with the real npm, pnpm, yarn, pip and uv:
//   node scripts/test-install-commands.mjs [PATTERN]     only commands that contain PATTERN
import './require-node.mjs';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { findPython } = await import('./python-environments.mjs');
const { collectCommands } = await import('./packages/shown-commands.ts');
const { DEFAULT_PLATFORM, buildNpmInstall, buildNpx, buildPipInstall } = await import(
  '../libs/contracts/src/packages.ts'
);
const { CONNECT_SNIPPETS } = await import('../libs/contracts/src/connect-snippets.ts');
const { startPlatform } = await import('../integrations/js/build/start-platform.mjs');

const MANAGERS = { pnpm: '12.21.0', yarn: '1.22.22' };
const UV = 'uv==0.13.9';
const COMMAND_MS = 180_000;
/** A command that serves or follows has started if it still runs after this. */
const RUNNING_MS = 20_000;
/** What a command may end with other than 0: the program ran and said what it lacks in an empty folder. */
const RAN = {
  'login --url': [1, 4, 64],
  'rules test': [1, 64],
  'rules apply': [1, 64],
  'guard claude-code': [1],
  'log-verify': [5],
};

const python = findPython();
if (python === undefined) {
  console.error('The install commands need Python 3.11 to 3.13');
  process.exit(1);
}
const home = join(homedir(), '.cache/agentlens/package-managers');
const path = installManagers();
const [pattern = ''] = process.argv.slice(2);
const commands = [...new Set([...shownByDocuments(), ...shownByConsole()])].filter((one) => one.includes(pattern));
spawnSync(process.execPath, [join(root, 'scripts/make-packages.mjs'), '--if-changed'], { stdio: 'inherit' });
const platform = await startPlatform();
let failed = 0;
try {
  for (const command of commands) failed += (await passes(command)) ? 0 : 1;
} finally {
  await platform.stop();
}
console.log(`${commands.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 && commands.length > 0 ? 0 : 1);

function shownByDocuments() {
  return collectCommands(root).map(({ command }) => command);
}

/** The console prints what these functions return. */
function shownByConsole() {
  return [
    buildNpmInstall(['sdk'], DEFAULT_PLATFORM),
    buildNpmInstall(['cli'], DEFAULT_PLATFORM, '-g '),
    `${buildNpx('cli', DEFAULT_PLATFORM)} login --help`,
    buildPipInstall(DEFAULT_PLATFORM),
    ...CONNECT_SNIPPETS.map(({ install }) => install),
  ];
}

/** Returns a PATH with this Node, npm, pnpm, yarn and uv. They are kept between runs. */
function installManagers() {
  const bin = join(home, 'python/bin');
  if (!existsSync(join(home, 'node_modules/.bin/yarn'))) {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies: MANAGERS }));
    must('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], home);
  }
  if (!existsSync(join(bin, 'uv'))) {
    must(python, ['-m', 'venv', join(home, 'python')], home);
    must(join(bin, 'pip'), ['install', '--quiet', UV], home);
  }
  return [dirname(process.execPath), bin, join(home, 'node_modules/.bin'), process.env.PATH].join(delimiter);
}

function must(program, args, cwd) {
  const { status, error } = spawnSync(program, args, { cwd, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? `exit ${status}`}`);
}

async function passes(shown) {
  const folder = mkdtempSync(join(tmpdir(), 'agentlens-command-'));
  const command = shown
    .replaceAll(/https?:\/\/(?:127\.0\.0\.1:3400|localhost:3400|agentlens\.example\.com)/g, platform.url)
    .replace(/ -- npx (?=@modelcontextprotocol)/, ' -- npx --yes ')
    .replaceAll(/(?<= )\/data\b/g, folder)
    .replace('127.0.0.1:3410', '127.0.0.1:0')
    .replace(/^npx /, 'npx --yes ');
  try {
    const { code, said } = await run(command, folder);
    const accepted = Object.entries(RAN).find(([words]) => shown.includes(words))?.[1] ?? [0];
    const passed = code === 'running' || code === 0 || (accepted.includes(code) && !/npm error/i.test(said));
    console.log(`${passed ? 'ok    ' : 'FAILED'} ${shown}`);
    if (!passed) console.error(`${command}\nexit ${code}\n${said.slice(-2_000)}`);
    return passed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a command in a virtual environment of Python and a group of its own, which ends with it. */
async function run(command, folder) {
  mkdirSync(join(folder, 'home'));
  const needsPython = /^(pip|uv) /.test(command);
  const setUp = needsPython ? `"${python}" -m venv .venv && . .venv/bin/activate && ` : '';
  const env = {
    PATH: path,
    HOME: join(folder, 'home'),
    LANG: 'C.UTF-8',
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), '.npm'),
    npm_config_prefix: join(folder, 'global'),
    npm_config_userconfig: process.env.npm_config_userconfig ?? join(homedir(), '.npmrc'),
    UV_CACHE_DIR: join(homedir(), '.cache/uv'),
    PIP_CACHE_DIR: join(homedir(), '.cache/pip'),
    AGENTLENS_URL: platform.url,
    AGENTLENS_API_KEY: platform.key,
    GITHUB_SHA: 'abc',
    ...proxies(),
  };
  const child = spawn('sh', ['-c', `${setUp}${command}`], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const serves = /--listen|-- npx|tail|watch| mcp$/.test(command);
  const limit = serves ? RUNNING_MS : COMMAND_MS;
  const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(serves ? 'running' : 'too late'), limit);
  });
  const code = await Promise.race([ended, late]);
  clearTimeout(timer);
  if (typeof code === 'string') {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await ended;
  }
  return { code, said };
}

/** How this machine reaches the registries. */
function proxies() {
  const names =
    /^(https?_proxy|no_proxy|npm_config_registry|pip_index_url|pip_config_file|uv_\w*index\w*|ssl_cert_file|node_extra_ca_certs|requests_ca_bundle)$/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => names.test(name)));
}
