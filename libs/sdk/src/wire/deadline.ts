import type { RuntimeClock } from '../runtime/runtime.ts';

/** The call timed out. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

/**
 * Settles within `ms`, regardless of `work`: the signal asks it to stop, but the caller does not wait for that. A
 * transport that ignores signals must not hang an agent.
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
