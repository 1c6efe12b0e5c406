/** Work that is done once for everybody who asks for it at the same time, by key. */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /** Answers as the run that is under way does, or starts one. @throws what the work throws, to everybody who waits */
  run(key: string, work: () => Promise<T>): Promise<T> {
    const underWay = this.#running.get(key);
    if (underWay !== undefined) return underWay;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }
}
