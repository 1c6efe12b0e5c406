import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { migrate } from '@agentlens/database';
import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiKeyIdOf } from './auth/api-key.ts';

const program = join(import.meta.dirname, 'first-key.ts');
const loader = join(import.meta.dirname, '../../../scripts/source-loader.mjs');
const run = promisify(execFile);

describe('the first key of a deployment', () => {
  let fresh: FreshDatabase;
  const firstKey = (...words: string[]) =>
    run(process.execPath, ['--conditions=@agentlens/source', '--import', loader, program, ...words], {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: fresh.url,
        NATS_URL: 'nats://127.0.0.1:1',
        REDIS_URL: 'redis://127.0.0.1:1',
        AGENTLENS_SECRET_KEY: Buffer.alloc(32).toString('base64'),
      },
    });

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
  });
  afterAll(() => fresh.drop());

  it('is printed once, alone on stdout', async () => {
    const { stdout, stderr } = await firstKey();
    expect(apiKeyIdOf(stdout.trimEnd())).not.toBeNull();
    expect(stderr).toContain('shown this once');
    await expect(firstKey()).rejects.toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('already') });
  });

  it('can be the key that creates tenants', async () => {
    const { stdout } = await firstKey('platform');
    expect(apiKeyIdOf(stdout.trimEnd())).not.toBeNull();
  });

  it('rejects an unknown kind', async () => {
    await expect(firstKey('root')).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('"platform"') });
  });
});
