// Measures what a new user waits for, of this commit and of another one in turns: `npm ci`, then `npm start` until the
// printed address answers, the installed size, the most memory that the first start holds, and the second start.
//   node scripts/measure-first-minute.mjs [--against d96b74c1] [--rounds 1]
// Uses npm's cache, so that the network does not count: the first clone of each commit is installed once unmeasured.
import './require-node.mjs';
import { execFileSync, spawn } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: { against: { type: 'string', default: 'd96b74c1' }, rounds: { type: 'string', default: '1' } },
});
// After the first import has found a Node that reads TypeScript.
const { freePort } = await import('../libs/testing/src/servers/server-process.ts');
const MB = 2 ** 20;
const SAMPLE_MS = 50;
const START_MS = 900_000;
const FIGURES = {
  install: ['npm ci', 's'],
  start: ['first npm start', 's'],
  wait: ['both', 's', 0.4],
  size: ['installed size', 'MB', 0.45],
  files: ['installed files', ''],
  memory: ['peak memory of the first start', 'MB', 0.3],
  again: ['second npm start', 's'],
};

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const commits = { base: git('rev-parse', values.against), here: git('rev-parse', 'HEAD') };
const measured = { base: [], here: [] };

for (const side of ['base', 'here']) await inClone(commits[side], (folder) => install(folder));
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const side of round % 2 === 0 ? ['base', 'here'] : ['here', 'base']) {
    const figures = await inClone(commits[side], measure);
    measured[side].push(figures);
    console.log(`${commits[side].slice(0, 8)}  ${JSON.stringify(figures)}`);
  }
}
report();

/** Removes the clone in any case. */
async function inClone(commit, use) {
  const folder = mkdtempSync(join(tmpdir(), 'agentlens-first-minute-'));
  try {
    execFileSync('git', ['clone', '--quiet', '--no-checkout', root, folder]);
    execFileSync('git', ['checkout', '--quiet', commit], { cwd: folder });
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function install(folder) {
  const started = performance.now();
  execFileSync('npm', ['ci'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  return (performance.now() - started) / 1000;
}

async function measure(folder) {
  const seconds = install(folder);
  const first = await start(folder);
  const second = await start(folder);
  return {
    install: round(seconds),
    start: round(first.seconds),
    wait: round(seconds + first.seconds),
    ...installed(folder),
    memory: Math.round(first.memory / MB),
    again: round(second.seconds),
  };
}

/** Starts the platform as a user does, in a group of its own, and stops it once it answers. */
async function start(folder) {
  const port = await freePort();
  const env = { ...process.env, AGENTLENS_HTTP_PORT: String(port) };
  const started = performance.now();
  const child = spawn('npm', ['start'], { cwd: folder, env, detached: true, stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let memory = 0;
  try {
    for (;;) {
      memory = Math.max(memory, memoryOf(child.pid));
      if (await answers(`http://127.0.0.1:${port}/api/health`)) break;
      if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode} in ${folder}`);
      if (performance.now() - started > START_MS) throw new Error(`no answer within ${START_MS / 1000} s`);
      await delay(SAMPLE_MS);
    }
    return { seconds: (performance.now() - started) / 1000, memory };
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
    await exited;
  }
}

async function answers(url) {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1_000) })).ok;
  } catch {
    // It does not listen yet.
    return false;
  }
}

/** Memory of a process and its descendants, with shared pages counted once. 0 where there is no /proc. */
function memoryOf(pid) {
  const children = new Map();
  for (const name of readable(() => readdirSync('/proc')) ?? []) {
    const parent = /^\d+ \(.*\) \S (\d+)/s.exec(readable(() => readFileSync(`/proc/${name}/stat`, 'utf8')) ?? '')?.[1];
    if (parent !== undefined) children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)]);
  }
  const family = [pid];
  for (const one of family) family.push(...(children.get(one) ?? []));
  const kilobytes = family.map((one) =>
    Number(/^Pss:\s+(\d+)/m.exec(readable(() => readFileSync(`/proc/${one}/smaps_rollup`, 'utf8')) ?? '')?.[1] ?? 0),
  );
  return kilobytes.reduce((sum, each) => sum + each, 0) * 1024;
}

/** A process may end while it is read. */
function readable(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Blocks on disk of everything that npm installed, as `du` counts them. */
function installed(folder) {
  let blocks = 0;
  let files = 0;
  const seen = new Set();
  const walk = (path) => {
    const found = lstatSync(path);
    if (seen.has(found.ino)) return;
    seen.add(found.ino);
    blocks += found.blocks;
    if (found.isFile()) files += 1;
    if (found.isDirectory()) for (const name of readdirSync(path)) walk(join(path, name));
  };
  walk(join(folder, 'node_modules'));
  return { size: Math.round((blocks * 512) / MB), files };
}

function round(value) {
  return Math.round(value * 10) / 10;
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function report() {
  const [base, here] = [commits.base, commits.here].map((commit) => commit.slice(0, 8));
  console.log(`\n${''.padEnd(32)}${base.padStart(12)}${here.padStart(12)}       ratio`);
  for (const [figure, [title, unit, target]] of Object.entries(FIGURES)) {
    const [before, now] = ['base', 'here'].map((side) => median(measured[side].map((one) => one[figure])));
    const ratio = before === 0 ? 'not measured' : (now / before).toFixed(2);
    const cells = [before, now].map((value) => `${value} ${unit}`.trim().padStart(12)).join('');
    console.log(
      `${title.padEnd(32)}${cells}${ratio.padStart(12)}${target === undefined ? '' : `  (target ${target})`}`,
    );
  }
}
