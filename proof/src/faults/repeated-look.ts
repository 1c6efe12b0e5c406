import { setTimeout as pause } from 'node:timers/promises';

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
