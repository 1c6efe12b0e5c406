// A platform of its own, started as its users start it; the first start builds it.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
export const MODES = { 'in one process': 'start.mjs', 'as five services': 'start-distributed.mjs' };
const READY_MS = 600_000;
const READY = 'Ctrl-C';

/** @returns {Promise<{url: string, key: string, stop: () => Promise<void>}>} */
export async function startPlatform(mode) {
  const dataDir = mkdtempSync(join(tmpdir(), 'agentlens-interop-'));
  const port = Number(process.env.INTEROP_PORT ?? (await freePort()));
  const child = spawn(process.execPath, [join(ROOT, 'scripts', MODES[mode])], {
    cwd: ROOT,
    env: { ...process.env, AGENTLENS_DATA_DIR: dataDir, AGENTLENS_HTTP_PORT: String(port), NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  const ready = new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`not ready in time:\n${printed}`)), READY_MS);
    for (const output of [child.stdout, child.stderr]) {
      output.on('data', (text) => {
        printed += text;
        if (!printed.includes(READY)) return;
        clearTimeout(late);
        resolve();
      });
    }
    child.once('close', (code) => {
      clearTimeout(late);
      reject(new Error(`ended with ${code}:\n${printed}`));
    });
  });
  const stop = async () => {
    const closed = new Promise((resolve) => child.once('close', resolve));
    if (child.exitCode === null) {
      child.kill('SIGINT');
      await closed;
    }
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await ready;
  } catch (error) {
    await stop();
    throw error;
  }
  const key = /agk_live_\w+/.exec(printed)?.[0];
  return { url: `http://127.0.0.1:${port}`, key, stop };
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
