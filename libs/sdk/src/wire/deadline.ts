import type { RuntimeClock } from '../runtime/runtime.ts';

/** The time given to a call is over. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

/**
 * Settles within `ms`, whatever `work` does: the signal asks it to stop, and nobody waits to see whether it does.
 * A transport that ignores signals must not be able to hang an agent.
 */
export function within<T>(
  clock: RuntimeClock,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  holding = true,
): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const cancel = clock.timer(
      () => {
        reject(new DeadlineExceeded(ms));
        controller.abort();
      },
      Math.max(0, ms),
      holding,
    );
    started(work, controller.signal).then(resolve, reject).finally(cancel);
  });
}

async function started<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return work(signal);
}
