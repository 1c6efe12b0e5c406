import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KEY, makeBundle } from './bundle.testing.ts';

const MAKE = join(import.meta.dirname, '../build/package.mjs');

describe('the package of the verifier', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentlens-verify-'));
  const file = join(folder, 'run.json');
  const program = join(folder, 'package/agentlens-verify.js');
  const verify = (...args: string[]) =>
    spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', cwd: folder });

  beforeAll(() => {
    const tarball = execFileSync(process.execPath, [MAKE, folder], { encoding: 'utf8' }).trim();
    execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('checks a bundle alone, outside of this repository', async () => {
    const bundle = await makeBundle(31);
    writeFileSync(file, JSON.stringify(bundle));
    const whole = verify('bundle', file, '--key', KEY);
    expect({ status: whole.status, stderr: whole.stderr }).toEqual({ status: 0, stderr: '' });
    expect(whole.stdout.split('\n')[0]).toBe('proven');

    writeFileSync(file, JSON.stringify({ ...bundle, entries: bundle.entries.slice(1) }));
    expect(verify('bundle', file, '--key', KEY).status).toBe(1);
    expect(verify('bundle', join(folder, 'none.json'), '--key', KEY).status).toBe(5);
  });
});
