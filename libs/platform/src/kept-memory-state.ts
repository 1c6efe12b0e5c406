import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createMemoryState, type MemoryState, type StateStores } from '@agentlens/state';
import type { Logger } from 'pino';

/**
 * Memory state that is saved at shutdown and restored at the next start, so that a restart keeps calls and counters of
 * a run. The file is deleted after reading: after a crash it would be stale.
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
    if (!isAbsent(error)) logger.warn({ err: error, file }, 'restoring state from before the restart failed');
    return createMemoryState();
  }
}

async function keep(file: string, state: MemoryState, logger: Logger): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, state.snapshot(), { mode: 0o600 });
    await rename(`${file}.new`, file);
  } catch (error) {
    logger.warn({ err: error, file }, 'saving state for the next start failed');
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
