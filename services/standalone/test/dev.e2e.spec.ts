import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { Program, root } from './support/program.ts';

describe('npm run dev', () => {
  it('runs the sources, restarts on a change and stops cleanly', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'agentlens-dev-'));
    const port = await freePort();
    const dev = Program.run('scripts/dev.mjs', { AGENTLENS_HTTP_PORT: String(port), AGENTLENS_DATA_DIR: dataDir });
    try {
      await dev.until('standalone ready in');
      const now = new Date();
      utimesSync(join(root, 'services/standalone/src/banner.ts'), now, now);
      await dev.until('banner.ts changed, restarting standalone');
      await eventually(() => expect(dev.printed.match(/ready in [\d.]+ s/g)).toHaveLength(2));
      expect((await fetch(`http://127.0.0.1:${port}/api/health`)).status).toBe(200);
    } finally {
      expect(await dev.signal('SIGTERM')).toBe(0);
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  it('names the services if the given one does not exist', async () => {
    const dev = Program.run('scripts/dev.mjs', {}, ['ingst']);
    await dev.until('Services: action-dispatcher, backtester, guardrail-evaluator, ingest');
    expect(await dev.ended()).toBe(64);
  });
});
