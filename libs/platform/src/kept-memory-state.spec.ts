import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { keptMemoryState } from './open-platform.ts';
import { createLogger } from './log/create-logger.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentlens-state-'));
  file = join(folder, 'data', 'state.bin');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('memory that is kept', () => {
  it('is there again after it was closed, once', async () => {
    const first = await keptMemoryState(file, logger);
    await first.runContexts.keep('acme', 'run', { sessionId: 's' });
    await first.close();
    const second = await keptMemoryState(file, logger);
    expect(await second.runContexts.find('acme', 'run')).toEqual({ sessionId: 's' });
    // As after a crash: what was read is not read again.
    const third = await keptMemoryState(file, logger);
    expect(await third.runContexts.find('acme', 'run')).toBeUndefined();
  });

  it('begins anew where the file cannot be read', async () => {
    await (await keptMemoryState(file, logger)).close();
    await writeFile(file, 'nonsense');
    const state = await keptMemoryState(file, logger);
    expect(state.healthy()).toBe(true);
    await state.close();
    expect(await readdir(join(folder, 'data'))).toEqual(['state.bin']);
  });
});
