/**
 * Minimum time between commits. Each message wakes the broker, the disk and every consumer, which costs more than its
 * events. Compared to the round trip, the wait is not noticeable.
 */
const APART_MS = 5;
/** Maximum time that a commit waits for the acknowledgement of the previous one. */
const LATEST_MS = 25;

/** A monotonic clock in milliseconds, and its timer. */
export interface CommitTimer {
  now(): number;
  /** Schedules a callback and returns a function that cancels it. 0 ms means after everything that has arrived. */
  later(afterMs: number, callback: () => void): () => void;
}

const MOMENTS: CommitTimer = {
  now: () => performance.now(),
  later: (afterMs, callback) => {
    if (afterMs > 0) {
      const timer = setTimeout(callback, afterMs);
      return () => clearTimeout(timer);
    }
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  },
};

/**
 * Decides when waiting messages are sent, all together: at once if nothing was sent for a while, otherwise shortly
 * after the last commit, once it is acknowledged. An idle gateway therefore adds no wait, and a busy one gathers more
 * the longer the broker takes.
 */
export class GroupCommit {
  #sentAt = Number.NEGATIVE_INFINITY;
  #unacknowledged = 0;
  #cancel: (() => void) | undefined;

  /** @param send sends everything that waits; resolves when the broker has acknowledged it */
  constructor(
    private readonly send: () => Promise<unknown>,
    private readonly timer: CommitTimer = MOMENTS,
  ) {}

  /** Requests a commit, which runs at the next due time. */
  request(): void {
    if (this.#cancel === undefined) this.#schedule(this.#unacknowledged > 0 ? LATEST_MS : this.#remainingMs());
  }

  /** Commits at once. */
  commit(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#sentAt = this.timer.now();
    this.#unacknowledged += 1;
    void this.send().finally(() => this.#acknowledged());
  }

  #acknowledged(): void {
    this.#unacknowledged -= 1;
    if (this.#cancel === undefined) return;
    this.#cancel();
    this.#schedule(this.#remainingMs());
  }

  #schedule(afterMs: number): void {
    this.#cancel = this.timer.later(afterMs, () => this.commit());
  }

  #remainingMs(): number {
    return Math.max(0, this.#sentAt + APART_MS - this.timer.now());
  }
}
