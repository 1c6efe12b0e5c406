import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from './log/create-logger.ts';
import { keptMemoryState } from './open-platform.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentlens-state-'));
  file = join(folder, 'data', 'state.bin');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('memory state that is saved', () => {
  it('is restored once after a clean shutdown', async () => {
    const first = await keptMemoryState(file, logger);
    await first.runContexts.keep('acme', 'run', { sessionId: 's' });
    await first.close();
    const second = await keptMemoryState(file, logger);
    expect(await second.runContexts.find('acme', 'run')).toEqual({ sessionId: 's' });
    // Simulates a crash: a file that was read is not read twice.
    const third = await keptMemoryState(file, logger);
    expect(await third.runContexts.find('acme', 'run')).toBeUndefined();
  });

  it('starts empty if the file cannot be read', async () => {
    await (await keptMemoryState(file, logger)).close();
    await writeFile(file, 'nonsense');
    const state = await keptMemoryState(file, logger);
    expect(state.healthy()).toBe(true);
    await state.close();
    expect(await readdir(join(folder, 'data'))).toEqual(['state.bin']);
  });
});
