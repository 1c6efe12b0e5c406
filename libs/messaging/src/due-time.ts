/** When the next of something may begin; whoever asks before is called again at that time. */
export class DueTime {
  #at = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly again: () => void,
    /** Milliseconds that only go forward. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** True where it is too early: then it is said when it no longer is. */
  isAhead(): boolean {
    const early = this.#at - this.now();
    if (early <= 0) return false;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.again();
    }, early);
    return true;
  }

  /** One begins now; the next may in so many milliseconds. */
  setIn(ms: number): void {
    this.stop();
    this.#at = this.now() + ms;
  }

  /** Calls nobody any more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
