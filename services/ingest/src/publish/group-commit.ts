/**
 * Commits are at least this far apart. A message of its own wakes the broker, the disk and every consumer, which costs
 * more than the events in it; beside the round trip nobody notices the wait.
 */
const APART_MS = 5;
/** How long a commit waits for the acknowledgement of the one before it. */
const LATEST_MS = 25;

/** A monotonic clock, ms, and its timer. */
export interface CommitTimer {
  now(): number;
  /** 0 ms: after everything that has arrived by then. Returns how to cancel. */
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
 * Decides when waiting messages are sent, all together: at once if nothing was sent for a while, else shortly after the
 * last commit and once it is acknowledged. So an idle gateway adds no wait, and a busy one gathers more the longer the
 * broker takes.
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

  /** Something waits: commit when it is time. */
  request(): void {
    if (this.#cancel === undefined) this.#schedule(this.#unacknowledged > 0 ? LATEST_MS : this.#remainingMs());
  }

  /** Commits now. */
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
