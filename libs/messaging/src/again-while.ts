import { setTimeout as pause } from 'node:timers/promises';

interface Patience {
  /** From the first try to the last, ms. */
  readonly forMs: number;
  /** Between two tries. Default 250 ms. */
  readonly pauseMs?: number;
  /** Told of the first failure only: the others say the same. */
  readonly onFirstFailure?: (error: unknown) => void;
}

/**
 * Does something again while what it fails with may pass, as where a server is just starting.
 * @throws its last error, where that lasts or may not pass
 */
export async function againWhile<T>(
  mayPass: (error: unknown) => boolean,
  { forMs, pauseMs = 250, onFirstFailure }: Patience,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + forMs;
  for (let failed = false; ; failed = true) {
    try {
      return await work();
    } catch (error) {
      if (!mayPass(error) || performance.now() >= deadline) throw error;
      if (!failed) onFirstFailure?.(error);
    }
    await pause(pauseMs);
  }
}
