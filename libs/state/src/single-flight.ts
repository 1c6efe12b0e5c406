/** Runs work once for all concurrent callers of the same key. */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /** Joins the current run or starts one. @throws the error of the work, to every waiting caller */
  run(key: string, work: () => Promise<T>): Promise<T> {
    const underWay = this.#running.get(key);
    if (underWay !== undefined) return underWay;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }
}
