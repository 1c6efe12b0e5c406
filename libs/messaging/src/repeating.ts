/**
 * Work that comes again: the next turn begins a while after the last one ended, whatever came of it, so that turns never
 * overlap. `turn` answers how long until the next, ms, and never throws. Keeps no process alive.
 */
export class Repeating {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = true;

  constructor(private readonly turn: () => Promise<number>) {}

  /** The first turn begins after `delayMs`, at once where that is 0: a stop right after it waits for it. */
  start(delayMs: number): void {
    this.#stopped = false;
    if (delayMs === 0) this.#running = this.#once();
    else this.#schedule(delayMs);
  }

  /** Waits for a turn that is running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#once();
    }, delayMs).unref();
  }

  async #once(): Promise<void> {
    this.#schedule(await this.turn());
  }
}
