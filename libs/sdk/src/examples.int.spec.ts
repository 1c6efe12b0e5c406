import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);

/** Runs the example as a user does, but from the sources. */
async function example(name: string, env: Record<string, string> = {}): Promise<string> {
  const file = join(import.meta.dirname, '..', 'examples', name);
  const flags = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];
  const { stdout } = await run(process.execPath, [...flags, file], { env: { PATH: '', ...env } });
  return stdout;
}

describe('the examples', () => {
  it('guard a mock model of the AI SDK: a refused call does not run, and the model receives the reason', async () => {
    const output = await example('ai-sdk-mock.mjs');
    expect(output).toContain('deleted: []');
    expect(output).toContain('model:   I was not allowed to delete it.');
    expect(output).toMatch(/tool\.decision +BLOCK/);
    expect(output).toContain('counted: 42 lines');
  });

  it('continue without a platform, failing open', async () => {
    const output = await example('agent-without-a-model.mjs', { AGENTLENS_URL: 'http://127.0.0.1:1' });
    expect(output).toContain('deleted /data/report-2019.txt (not really)');
  });
});
