import { InFlight } from './in-flight.ts';

/** Work that goes on beside whoever began it, and is waited for before the process ends. */
export class BackgroundWork {
  readonly #running = new InFlight<Promise<unknown>>();

  get size(): number {
    return this.#running.size;
  }

  /** @param work sees to its own failures */
  add(work: Promise<unknown>): void {
    const place = this.#running.add(work);
    const leave = () => void this.#running.delete(place);
    work.then(leave, leave);
  }

  /** Resolves when everything that runs now has ended, whatever became of it. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}
