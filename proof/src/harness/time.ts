import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds of the machine's monotonic clock, which all its processes share, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}

const POLL_INTERVAL_MS = 25;

/** Polls until there is a result. @throws an error with what was awaited and the last state */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  deadlineMs: number,
  standing: () => Promise<string> = async () => '',
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) {
      throw new Error(`waited ${deadlineMs / 1000} s in vain for ${what} ${await standing()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

/** Polls with a pause in between, until it is stopped or a poll fails. */
export class RepeatedLook {
  readonly #over = new AbortController();
  readonly #looking: Promise<void>;

  constructor(look: () => Promise<void>, everyMs: number) {
    this.#looking = this.#repeat(look, everyMs);
    // Thrown by `close`. Until then a failed poll must not be an unhandled rejection.
    this.#looking.catch(() => undefined);
  }

  /** Stops polling. */
  stop(): void {
    this.#over.abort();
  }

  /** Stops polling. @throws the error of a failed poll */
  async close(): Promise<void> {
    this.stop();
    await this.#looking;
  }

  async #repeat(look: () => Promise<void>, everyMs: number): Promise<void> {
    while (!this.#over.signal.aborted) {
      await look();
      await pause(everyMs, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }
}
