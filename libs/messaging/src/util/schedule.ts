/**
 * Periodic job. The next run starts a given time after the previous one ended, so runs never overlap. `run` returns the
 * delay until the next run in ms and must not throw. The timer does not keep the process alive.
 */
export class Repeating {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = true;

  constructor(private readonly run: () => Promise<number>) {}

  /** Starts the first run after `delayMs`. With 0 it starts synchronously, so that `stop` waits for it. */
  start(delayMs: number): void {
    this.#stopped = false;
    if (delayMs === 0) this.#running = this.#once();
    else this.#schedule(delayMs);
  }

  /** Starts no further run and waits for the current one. */
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
    this.#schedule(await this.run());
  }
}

/** Minimum-interval gate. A caller that finds it closed is called back through `onOpen` when it opens. */
export class MinIntervalGate {
  #opensAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly onOpen: () => void,
    /** Monotonic clock, in ms. */
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Returns true if the gate is closed, and schedules `onOpen` for the moment it opens. */
  isClosed(): boolean {
    const remainingMs = this.#opensAtMs - this.nowMs();
    if (remainingMs <= 0) return false;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.onOpen();
    }, remainingMs);
    return true;
  }

  /** Closes the gate for `ms` milliseconds. */
  closeFor(ms: number): void {
    this.cancel();
    this.#opensAtMs = this.nowMs() + ms;
  }

  /** Cancels a scheduled `onOpen`. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
