/**
 * While messages go, departures are this far apart. A message that goes by itself wakes the broker, the disk and every
 * consumer for itself, which costs more than what it carries; and nobody notices the wait beside the way.
 */
const APART_MS = 5;
/** How long a departure waits for the one before it to arrive. */
const LATEST_MS = 25;

/** Time that never jumps, ms, and a way to be called later in it. */
export interface Moments {
  now(): number;
  /** In 0 ms: once everything that has arrived by then is taken. Answers how to call it off. */
  later(afterMs: number, callback: () => void): () => void;
}

const MOMENTS: Moments = {
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
 * When what waits leaves, all of it together (group commit): at once where nothing has left for a while, else a moment
 * after what left before, and once that has arrived. So an idle gateway waits for nobody, and a busy one gathers more the
 * longer the way takes.
 */
export class Departures {
  #leftAt = Number.NEGATIVE_INFINITY;
  #underWay = 0;
  #callOff: (() => void) | undefined;

  /** `leave` sends what waits, and answers when it has arrived. */
  constructor(
    private readonly leave: () => Promise<unknown>,
    private readonly moments: Moments = MOMENTS,
  ) {}

  /** Something waits. */
  ask(): void {
    if (this.#callOff === undefined) this.#plan(this.#underWay > 0 ? LATEST_MS : this.#untilApart());
  }

  /** What waits leaves now. */
  depart(): void {
    this.#callOff?.();
    this.#callOff = undefined;
    this.#leftAt = this.moments.now();
    this.#underWay += 1;
    void this.leave().finally(() => this.#arrived());
  }

  #arrived(): void {
    this.#underWay -= 1;
    if (this.#callOff === undefined) return;
    this.#callOff();
    this.#plan(this.#untilApart());
  }

  #plan(afterMs: number): void {
    this.#callOff = this.moments.later(afterMs, () => this.depart());
  }

  #untilApart(): number {
    return Math.max(0, this.#leftAt + APART_MS - this.moments.now());
  }
}
