// How long the packed command takes to start, against a Node program that does nothing:
//   node apps/cli/build/measure-start-up.mjs [starts]
// Prints the median of each in ms. Programs take turns, so that a busy machine slows all of them alike.
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from './package.mjs';

/** The start may cost this many times an empty program. */
const AIM = 3;
const starts = Number(process.argv[2] ?? 21);

const folder = await mkdtemp(join(tmpdir(), 'agentlens-start-up-'));
try {
  const empty = join(folder, 'empty.mjs');
  await writeFile(empty, '');
  const command = join(await makeFolder(), 'bin/agentlens.js');
  const programs = [
    { name: 'an empty program', words: [empty] },
    { name: 'agentlens --version', words: [command, '--version'] },
    { name: 'agentlens --help', words: [command, '--help'] },
    { name: 'agentlens runs list --help', words: [command, 'runs', 'list', '--help'] },
    { name: 'agentlens profiles list', words: [command, 'profiles', 'list'] },
  ];
  const times = programs.map(() => []);
  for (let turn = 0; turn < starts; turn++) {
    for (const [i, { words }] of programs.entries()) times[i].push(timeOf(words));
  }
  const [base, ...commands] = times.map(medianOf);
  console.log(`${base.toFixed(0).padStart(5)} ms  ${programs[0].name}`);
  for (const [i, ms] of commands.entries()) {
    console.log(`${ms.toFixed(0).padStart(5)} ms  ${(ms / base).toFixed(1)}x  ${programs[i + 1].name}`);
  }
  if (commands.some((ms) => ms > base * AIM)) {
    console.error(`A start costs more than ${AIM} times an empty program.`);
    process.exitCode = 1;
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

function timeOf(words) {
  const startedMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, words, {
    env: { ...process.env, XDG_CONFIG_HOME: folder },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}: ${stderr}`);
  return performance.now() - startedMs;
}

function medianOf(times) {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
}
