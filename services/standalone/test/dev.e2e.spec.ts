import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');

describe('npm run dev', () => {
  it('runs the sources, restarts on a change and stops cleanly', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'agentlens-dev-'));
    const port = await freePort();
    const dev = spawn(process.execPath, [join(root, 'scripts/dev.mjs')], {
      env: { ...process.env, AGENTLENS_HTTP_PORT: String(port), AGENTLENS_DATA_DIR: dataDir },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    const starts = () => output.match(/ready in [\d.]+ s/g)?.length ?? 0;
    const untilStarts = async (count: number) => {
      while (starts() < count) {
        const [chunk] = (await once(dev.stdout, 'data')) as [Buffer];
        output += chunk.toString();
      }
    };
    try {
      await untilStarts(1);
      const now = new Date();
      utimesSync(join(root, 'services/standalone/src/banner.ts'), now, now);
      await untilStarts(2);
      expect(output).toContain('banner.ts changed, restarting standalone');
      expect((await fetch(`http://127.0.0.1:${port}/api/health`)).status).toBe(200);
    } finally {
      dev.kill('SIGTERM');
      const [code] = dev.exitCode === null ? ((await once(dev, 'exit')) as [number]) : [dev.exitCode];
      rmSync(dataDir, { recursive: true, force: true });
      expect(code).toBe(0);
    }
  });

  it('names the services if the given one does not exist', async () => {
    const dev = spawn(process.execPath, [join(root, 'scripts/dev.mjs'), 'ingst'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [error] = (await once(dev.stderr, 'data')) as [Buffer];
    expect(error.toString()).toContain('Services: action-dispatcher, guardrail-evaluator, ingest');
    expect(dev.exitCode ?? (await once(dev, 'exit'))[0]).toBe(64);
  });
});
