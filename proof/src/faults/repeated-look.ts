import { setTimeout as pause } from 'node:timers/promises';

/** Looks at something again and again, with a pause in between, until it is told to stop or a look fails. */
export class RepeatedLook {
  readonly #over = new AbortController();
  readonly #looking: Promise<void>;

  constructor(look: () => Promise<void>, everyMs: number) {
    this.#looking = this.#repeat(look, everyMs);
    // Told when it is closed; until then a look that failed is nobody's unhandled rejection.
    this.#looking.catch(() => undefined);
  }

  /** Looks no more. */
  stop(): void {
    this.#over.abort();
  }

  /** Looks no more. @throws what a look failed with */
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
