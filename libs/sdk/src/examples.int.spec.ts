import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);

/** As a user runs it, from the sources instead of a build. */
async function example(name: string, env: Record<string, string> = {}): Promise<string> {
  const file = join(import.meta.dirname, '..', 'examples', name);
  const flags = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];
  const { stdout } = await run(process.execPath, [...flags, file], { env: { PATH: '', ...env } });
  return stdout;
}

describe('the examples', () => {
  it('guard a mock model of the AI SDK: what is forbidden does not happen, and the model hears why', async () => {
    const said = await example('ai-sdk-mock.mjs');
    expect(said).toContain('deleted: []');
    expect(said).toContain('model:   I was not allowed to delete it.');
    expect(said).toMatch(/tool\.decision +BLOCK/);
    expect(said).toContain('counted: 42 lines');
  });

  it('work on where there is no platform, failing open', async () => {
    const said = await example('agent-without-a-model.mjs', { AGENTLENS_URL: 'http://127.0.0.1:1' });
    expect(said).toContain('deleted /data/report-2019.txt (not really)');
  });
});
