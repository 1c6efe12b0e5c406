/** A loop that has work and gets none of it done for this long has stalled. */
const STALLED_MS = 30_000;

/**
 * Watches one background loop. The time runs from the first attempt that did not succeed; one success ends it. A loop
 * without work is never stalled.
 */
export class LoopProgress {
  readonly #nowMs: () => number;
  #sinceMs: number | undefined;

  /** @param nowMs a monotonic clock */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @throws what `work` throws */
  async attempt<T>(work: () => Promise<T>): Promise<T> {
    this.failed();
    const result = await work();
    this.succeeded();
    return result;
  }

  /** Notes an attempt that has not succeeded, or not yet. */
  failed(): void {
    this.#sinceMs ??= this.#nowMs();
  }

  /** Notes that an item was settled, or that nothing is left to do. */
  succeeded(): void {
    this.#sinceMs = undefined;
  }

  /** How long the loop has got nothing done, in milliseconds; 0 if it makes progress. */
  get idleMs(): number {
    return this.#sinceMs === undefined ? 0 : this.#nowMs() - this.#sinceMs;
  }

  get isStalled(): boolean {
    return this.idleMs >= STALLED_MS;
  }
}
