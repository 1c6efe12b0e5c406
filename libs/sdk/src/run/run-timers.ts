import type { RuntimeClock } from '../runtime/runtime.ts';

/** The timers of one run: none of them keeps the process alive, and none is left when the run is over. */
export class RunTimers {
  readonly #clock: RuntimeClock;
  readonly #running = new Set<() => void>();
  #stopped = false;

  constructor(clock: RuntimeClock) {
    this.#clock = clock;
  }

  after(ms: number, run: () => void): void {
    if (this.#stopped) return;
    const cancel = this.#clock.timer(() => {
      this.#running.delete(cancel);
      run();
    }, ms);
    this.#running.add(cancel);
  }

  every(ms: number, run: () => void): void {
    this.after(ms, () => {
      run();
      this.every(ms, run);
    });
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#running) cancel();
    this.#running.clear();
  }
}
