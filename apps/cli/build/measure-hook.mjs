// What a hook of a coding agent costs, against a Node program that does nothing: node apps/cli/build/measure-hook.mjs [times]
// Prints median, 95th percentile and processor time of each in ms. Programs take turns, so that a busy machine slows all of
// them alike.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installHost, guardPaths, stopResident, writeConfig } from '@agentlens/guard';
import { makeFolder } from './package.mjs';

/** The launcher has to cost less than any hook that starts Node. The bounds leave room for a busy machine. */
const MAX_LAUNCHER_RATIO = 1;
const MAX_SLOW_PATH_RATIO = 2.5;
const times = Number(process.argv[2] ?? 31);

const home = await mkdtemp(join(tmpdir(), 'agentlens-hook-'));
const platform = await startPlatform();
const bin = join(home, 'claude');
await writeFile(bin, '#!/bin/sh\necho 2.1.332\n', { mode: 0o755 });
const env = { HOME: home, PATH: `${home}:${process.env.PATH}` };
const paths = guardPaths(env);
try {
  const entry = join(await makeFolder(), 'dist/agentlens-hook.cjs');
  writeConfig(paths, { url: platform.url, key: 'bench', content: 'full', killHost: false, hosts: {} });
  const runtime = { node: process.execPath, nodeArgs: [], entry, bundle: true };
  await installHost({ env, paths, runtime }, 'claude-code', { mode: 'enforce', fail: 'closed', wait: 5 });
  const { hooks } = JSON.parse(await readFile(join(home, '.claude/settings.json'), 'utf8'));
  const empty = join(home, 'empty.cjs');
  await writeFile(empty, '');
  let calls = 0;
  const input = () =>
    JSON.stringify({
      session_id: 's',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      tool_use_id: `t${calls++}`,
      cwd: home,
    });
  const programs = [
    { name: 'an empty Node program', run: () => timeOf(process.execPath, [empty]) },
    {
      name: 'the launcher, before a call',
      run: () => timeOf('/bin/sh', ['-c', hooks.PreToolUse[0].hooks[0].command], input()),
    },
    { name: 'the slow path alone', run: () => timeOf(process.execPath, [entry, '--folder', home, 'none'], '', 2) },
  ];
  // The first call starts the resident.
  programs[1].run();
  const measured = programs.map(() => ({ wallMs: [], cpuMs: 0 }));
  for (let turn = 0; turn < times; turn++) {
    for (const [i, { run }] of programs.entries()) {
      const before = childrenCpuMs();
      measured[i].wallMs.push(run());
      measured[i].cpuMs += childrenCpuMs() - before;
    }
  }
  const [base, launcher, slow] = measured.map(({ wallMs }) => percentile(wallMs, 0.5));
  console.log('   p50    p95    CPU  ratio');
  for (const [i, { wallMs, cpuMs }] of measured.entries()) {
    const [p50, p95] = [percentile(wallMs, 0.5), percentile(wallMs, 0.95)];
    const columns = [p50, p95, cpuMs / times].map((ms) => ms.toFixed(0).padStart(6));
    console.log(`${columns.join(' ')}  ${(p50 / base).toFixed(2)}x  ${programs[i].name}`);
  }
  const [baseCpu, launcherCpu] = measured.map(({ cpuMs }) => cpuMs);
  const isDear = launcher > base * MAX_LAUNCHER_RATIO || launcherCpu > baseCpu * MAX_LAUNCHER_RATIO;
  if (isDear || slow > base * MAX_SLOW_PATH_RATIO) {
    console.error(
      `The launcher may cost ${MAX_LAUNCHER_RATIO} and the slow path ${MAX_SLOW_PATH_RATIO} empty programs.`,
    );
    process.exitCode = 1;
  }
} finally {
  await stopResident(paths);
  await platform.stop();
  await rm(home, { recursive: true, force: true });
}

function timeOf(program, words, input = '', expected = 0) {
  const startedMs = performance.now();
  const { status, stderr } = spawnSync(program, words, { env, input, encoding: 'utf8' });
  if (status !== expected) throw new Error(`${words.join(' ')} ended with ${status}: ${stderr}`);
  return performance.now() - startedMs;
}

function percentile(list, share) {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length * share)];
}

/** Processor time of all child processes that ended, with theirs. Linux counts it in ticks of 10 ms. */
function childrenCpuMs() {
  if (process.platform !== 'linux') return 0;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

/** A platform in a process of its own, because this one waits for each hook. */
async function startPlatform() {
  const { Worker } = await import('node:worker_threads');
  const code = `
    const { createServer } = require('node:http');
    const { parentPort } = require('node:worker_threads');
    const answer = JSON.stringify({ verdict: 'ALLOW', control: 'CONTINUE', cause: { kind: 'ALLOW' }, message: 'Allowed' });
    const server = createServer((incoming, outgoing) => {
      incoming.resume().on('end', () => outgoing.end(answer));
    });
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;
  const worker = new Worker(code, { eval: true });
  const port = await new Promise((resolve) => worker.once('message', resolve));
  return { url: `http://127.0.0.1:${port}`, stop: () => worker.terminate() };
}
