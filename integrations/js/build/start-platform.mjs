// A platform for the conformance kit, with a database of its own that goes with it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const START_MS = 180_000;
const EVERY_MS = 200;

/** Answers its address, its key, and how to stop it. */
export async function startPlatform(port = Number(process.env.AGENTLENS_HTTP_PORT) || undefined) {
  const chosen = port ?? (await freePort());
  const dataDir = await mkdtemp(join(tmpdir(), 'agentlens-kit-'));
  const env = { ...process.env, AGENTLENS_HTTP_PORT: String(chosen), AGENTLENS_DATA_DIR: dataDir };
  const child = spawn(process.execPath, ['scripts/start.mjs'], {
    cwd: root,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
    await rm(dataDir, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${chosen}`;
  const keyFile = join(dataDir, 'api-key');
  for (const until = Date.now() + START_MS; ; await wait(EVERY_MS)) {
    if (child.exitCode !== null) throw new Error(`the platform ended while it started: exit code ${child.exitCode}`);
    if (existsSync(keyFile) && (await answers(url)))
      return { url, key: (await readFile(keyFile, 'utf8')).trim(), stop };
    if (Date.now() > until) {
      await stop();
      throw new Error(`no platform answers at ${url} within ${START_MS} ms`);
    }
  }
}

async function answers(url) {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    // It does not listen yet.
    return false;
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
