import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createMemoryState, type MemoryState, type StateStores } from '@agentlens/state';
import type { Logger } from 'pino';

/**
 * Memory that is written to a file when it is closed and read again at the next start, so that a restart in the middle of
 * a run forgets neither its calls nor its counts. A crash loses it: what an older file says would be wrong by then, so the
 * file is gone once it was read.
 */
export async function keptMemoryState(file: string, logger: Logger): Promise<StateStores> {
  const state = await stateFrom(file, logger);
  return { ...state, close: () => state.close().then(() => keep(file, state, logger)) };
}

async function stateFrom(file: string, logger: Logger): Promise<MemoryState> {
  try {
    const snapshot = await readFile(file);
    await rm(file);
    return createMemoryState({ snapshot });
  } catch (error) {
    if (!isAbsent(error)) logger.warn({ err: error, file }, 'what was counted before the restart cannot be read');
    return createMemoryState();
  }
}

async function keep(file: string, state: MemoryState, logger: Logger): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, state.snapshot(), { mode: 0o600 });
    await rename(`${file}.new`, file);
  } catch (error) {
    logger.warn({ err: error, file }, 'what was counted cannot be kept for the next start');
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
