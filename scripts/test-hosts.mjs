// Plays the stories of the guard with real coding agents: npm run test:hosts [host…] [--write]. The hosts are fetched
// once, with the versions of their lockfile, into a cache outside of the tree; if that fails, the run fails. Models run
// on loopback and proxies lead nowhere, so nothing leaves the machine. With --write, updates docs/guard/hosts.md.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../apps/cli/build/package.mjs';
import { startPlatform } from '../integrations/js/build/start-platform.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const workspace = join(root, 'integrations/js/guard-hosts');
const reports = join(root, 'reports/guard-hosts');
const page = join(root, 'docs/guard/hosts.md');
const write = process.argv.includes('--write');
const chosen = process.argv.slice(2).filter((word) => word !== '--write');
const BEGIN = '<!-- Written by: npm run test:hosts -- --write -->';
const END = '<!-- end -->';

/** Binaries below node_modules. Two packages would link theirs in an install script, which does not run. */
const platform = `${process.platform}-${process.arch}`;
const BINARIES = {
  claude: `@anthropic-ai/claude-code-${platform}/claude`,
  codex: '.bin/codex',
  gemini: '.bin/gemini',
  qwen: '.bin/qwen',
  copilot: '.bin/copilot',
  kimi: '.bin/kimi',
  opencode: `opencode-${platform}/bin/opencode`,
};

const PACKAGES = {
  'claude-code': '@anthropic-ai/claude-code',
  codex: '@openai/codex',
  'gemini-cli': '@google/gemini-cli',
  'qwen-code': '@qwen-code/qwen-code',
  'copilot-cli': '@github/copilot',
  'kimi-code': '@moonshot-ai/kimi-code',
  opencode: 'opencode-ai',
};

const bin = fetchHosts();
// The platform refuses variables that it does not know.
delete process.env.AGENTLENS_HOSTS_CACHE;
process.exit(await play());

/** @returns the folder with the binaries */
function fetchHosts() {
  const lock = readFileSync(join(workspace, 'package-lock.json'));
  const cache = process.env.AGENTLENS_HOSTS_CACHE ?? join(homedir(), '.cache/agentlens/guard-hosts');
  const home = join(cache, createHash('sha256').update(lock).digest('hex').slice(0, 16));
  const found = join(home, 'bin');
  if (existsSync(found)) return found;
  console.log(`agentlens: fetching the coding agents into ${home}`);
  const draft = `${home}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc'])
      cpSync(join(workspace, name), join(draft, name));
    // Not `npm ci`: it rejects a lockfile without the optional packages of platforms that a registry lacks. The hashes
    // of the lockfile hold here too.
    execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: draft, stdio: 'inherit' });
    mkdirSync(join(draft, 'bin'));
    for (const [name, path] of Object.entries(BINARIES)) {
      const file = join(draft, 'node_modules', path);
      if (!existsSync(file)) throw new Error(`${name} is not in its package: ${path}`);
      chmodSync(file, 0o755);
      symlinkSync(join('../node_modules', path), join(draft, 'bin', name));
    }
    rmSync(home, { recursive: true, force: true });
    renameSync(draft, home);
    return found;
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    console.error(`The coding agents could not be fetched: ${error.message}`);
    process.exit(1);
  }
}

async function play() {
  // A run of some hosts keeps the reports of the others.
  if (chosen.length === 0) rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  console.log('agentlens: starting a platform for the stories');
  // The model gateway calls a provider on loopback.
  process.env.AGENTLENS_EGRESS_ALLOW = '127.0.0.1/32';
  const { url, key, stop } = await startPlatform();
  try {
    const env = {
      ...{ AGENTLENS_KIT_URL: url, AGENTLENS_KIT_KEY: key, GUARD_HOSTS_BIN: bin, GUARD_HOSTS_REPORT: reports },
      GUARD_HOSTS: chosen.join(','),
      GUARD_HOSTS_BUNDLE: join(await makeFolder(), 'dist/agentlens-hook.cjs'),
    };
    const flags = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];
    const code = await run(
      [
        ...flags,
        '--test',
        '--test-concurrency=1',
        'test/hosts.story.ts',
        'test/first-day.story.ts',
        'test/model-gateway.story.mjs',
      ],
      env,
    );
    return code === 0 && (write || chosen.length === 0) ? await compareTable() : code;
  } finally {
    await stop();
  }
}

function run(args, env) {
  const child = spawn(process.execPath, args, { cwd: workspace, stdio: 'inherit', env: { ...process.env, ...env } });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** The table of the documentation has to match what the stories have proven. */
async function compareTable() {
  const { HOSTS } = await import('../integrations/js/guard/dist/index.js');
  const versions = JSON.parse(readFileSync(join(workspace, 'package-lock.json'), 'utf8')).packages;
  const columns = ['refuses', 'approval', 'kill', 'sub-agents', 'managed', 'tokens', 'budget', 'restored'];
  const rows = Object.values(HOSTS).map(({ id, title, grade, tested }) => {
    const { proven } = JSON.parse(readFileSync(join(reports, `${id}.json`), 'utf8'));
    const version = versions[`node_modules/${PACKAGES[id]}`].version;
    const cells = columns.map((column) => (proven.includes(column) ? 'yes' : '–'));
    return [`${title} \`${id}\``, version, `≥ ${tested.from}, < ${tested.before}`, grade, ...cells];
  });
  const contracts = Object.values(HOSTS).map(({ title, events, refusesByExit, changesArguments }) => [
    title,
    Object.keys(events)
      .map((event) => `\`${event}\``)
      .join(', '),
    refusesByExit === undefined ? 'thrown by the plugin' : 'JSON, exit code 2 and standard error',
    changesArguments ? 'yes' : 'no',
  ]);
  const spoken = [
    ['Host', 'Events', 'A refusal is said by', 'Changed arguments'],
    ['---', '---', '---', '---'],
    ...contracts,
  ];
  const head = ['Host', 'Proven with', 'Tested range', 'If the guard fails', ...columns];
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const holes = Object.values(HOSTS).flatMap(({ title, holes: all }) => all.map((hole) => `- ${title}: ${hole}.`));
  const table = `${BEGIN}\n\n${lines.join('\n')}\n\n${spoken.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n\nWhat the guard does not see, or cannot close:\n\n${holes.join('\n')}\n\n${END}`;
  const text = readFileSync(page, 'utf8');
  const updated = text.slice(0, text.indexOf(BEGIN)) + table + text.slice(text.indexOf(END) + END.length);
  if (updated === text) return 0;
  if (!write) {
    console.error('docs/guard/hosts.md is out of date. Run: npm run test:hosts -- --write');
    return 1;
  }
  writeFileSync(page, updated);
  return 0;
}
