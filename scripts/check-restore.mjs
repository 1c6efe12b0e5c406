// Backs up a running Compose deployment, empties it, restores it, and compares. It deletes the data of that deployment:
// use it on one made for the purpose.
//
//   AGENTLENS_API_KEY=<admin key> node scripts/check-restore.mjs --delete-its-data [FOLDER of docker-compose.yml]
//
// Needs docker with Compose. AGENTLENS_URL: the address of its edge.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

/** Something differs, or a command failed. */
class Failed extends Error {}

const RUNS = 20;
const CALLS = 25;
const DEADLINE_MS = 120_000;
const REQUEST_MS = 15_000;

const { values, positionals } = parseArgs({
  options: { 'delete-its-data': { type: 'boolean', default: false } },
  allowPositionals: true,
});
const { AGENTLENS_API_KEY: key, AGENTLENS_URL: url = 'http://127.0.0.1:3400' } = process.env;
if (!values['delete-its-data']) refuse('This deletes all data of the deployment: say so with --delete-its-data');
if (key === undefined) refuse('AGENTLENS_API_KEY is not set: name an admin key of the deployment');
const deployment = resolve(positionals[0] ?? '.');
const cli = join(import.meta.dirname, 'agentlens.mjs');
const folder = mkdtempSync(join(tmpdir(), 'agentlens-restore-'));

try {
  const before = await fill(`before-${randomBytes(4).toString('hex')}`);
  say(`${before.events} events of ${before.runIds.length} runs stored`);
  agentlens('log', 'verify');
  const backup = join(folder, 'backup');
  agentlens('backup', backup);
  await fill('after-the-backup');

  compose('down', '--volumes');
  // The new installation has a key of its own, so that nothing sealed can be read without the one in the backup.
  writeFileSync(join(deployment, '.secrets', 'secret_key'), `${randomBytes(32).toString('base64')}\n`);
  compose('up', '--no-build', '--detach', '--wait');
  await until(
    'the empty installation to refuse the old key',
    async () => (await ask('/api/runs?limit=1')).status === 401,
  );
  say('an empty installation runs');

  agentlens('restore', backup, '--yes');
  await until(
    'the restored installation to take the old key',
    async () => (await ask('/api/runs?limit=1')).status === 200,
  );
  const stored = await countEvents(before.runIds);
  if (stored !== before.events) stop(`${stored} of ${before.events} events of the backup are there`);
  if (before.log !== (await readLogKey())) stop('the log is signed with another key');
  const after = await fill(`restored-${randomBytes(4).toString('hex')}`);
  agentlens('log', 'verify');
  say(`restored: ${stored} of ${before.events} events; ${after.events} more stored since; the log is whole`);
} catch (error) {
  console.error(error instanceof Failed ? error.message : error);
  process.exitCode = 1;
} finally {
  // It has the secret key.
  rmSync(folder, { recursive: true, force: true });
}

/** Sends runs with tool calls, and waits until they are counted. */
async function fill(name) {
  const runIds = Array.from({ length: RUNS }, (_, run) => `${name}-${run}`);
  for (const runId of runIds) {
    const events = Array.from({ length: CALLS }, (_, call) => ({
      ...{ agentId: 'restore-check', sessionId: runId, eventType: 'tool_call' },
      payload: { callId: `${runId}-${call}`, toolName: 'search', arguments: { call } },
    }));
    const { status, text } = await ask('/api/events', { events });
    if (status !== 201) stop(`the events of ${runId} were answered ${status}: ${text}`);
  }
  const events = RUNS * CALLS;
  await until(`${events} events of ${name} to be stored`, async () => (await countEvents(runIds)) === events);
  return { runIds, events, log: await readLogKey() };
}

async function countEvents(runIds) {
  let count = 0;
  for (const runId of runIds) {
    const { status, text } = await ask(`/api/events?sessionId=${runId}&limit=100`);
    if (status === 200) count += JSON.parse(text).events.length;
  }
  return count;
}

/** The name of the log and the key that signs it. A log exists as soon as something was sealed. */
async function readLogKey() {
  let answer = { status: 0, text: '' };
  await until('the log to have a key', async () => {
    answer = await ask('/api/log/key');
    return answer.status === 200;
  });
  return answer.text;
}

async function ask(path, body) {
  const answer = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(REQUEST_MS),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error) => ({ status: 0, text: async () => String(error) }));
  return { status: answer.status, text: await answer.text() };
}

async function until(what, isThere) {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await isThere())) {
    if (Date.now() > deadline) stop(`waited ${DEADLINE_MS / 1_000} s in vain for ${what}`);
    await pause(500);
  }
}

function compose(...args) {
  run('docker', ['compose', ...args], deployment);
}

function agentlens(...args) {
  run(process.execPath, [cli, ...args], deployment);
}

function run(command, args, cwd) {
  say([command === process.execPath ? 'agentlens' : command, ...args.filter((word) => word !== cli)].join(' '));
  const env = { ...process.env, AGENTLENS_URL: url };
  const { status, error } = spawnSync(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) stop(`${command} ${args.join(' ')} failed (${error?.message ?? `exit ${status}`})`);
}

function say(text) {
  console.log(`${new Date().toISOString().slice(11, 19)}  ${text}`);
}

function stop(reason) {
  throw new Failed(reason);
}

function refuse(reason) {
  console.error(reason);
  process.exit(1);
}
