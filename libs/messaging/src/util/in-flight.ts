/** A place among what is in flight, to be given back once. */
export interface InFlightSlot<T> {
  readonly item: T;
}

interface Link<T> extends InFlightSlot<T> {
  older: Link<T> | undefined;
  newer: Link<T> | undefined;
  isHere: boolean;
}

/**
 * What has begun and is not over, oldest first: like a `Set`, for what comes and goes with every message or request.
 *
 * Not a `Set`, nor a `Map`, because of how V8 collects them. It gives them a new table every so many deletions, and the
 * old table points to it. Once one table has outlived two scavenges, each later one hangs on those before it, dead as
 * they are, with all that it held: nothing that was ever in the set is freed before the next full collection. A link
 * that is taken out points to nothing.
 */
export class InFlight<T> implements Iterable<T> {
  #oldest: Link<T> | undefined;
  #newest: Link<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get oldest(): T | undefined {
    return this.#oldest?.item;
  }

  add(item: T): InFlightSlot<T> {
    const link: Link<T> = { item, older: this.#newest, newer: undefined, isHere: true };
    if (link.older === undefined) this.#oldest = link;
    else link.older.newer = link;
    this.#newest = link;
    this.#size += 1;
    return link;
  }

  /** False where the place was given back before. */
  delete(place: InFlightSlot<T>): boolean {
    const link = place as Link<T>;
    if (!link.isHere) return false;
    const { older, newer } = link;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    link.isHere = false;
    link.older = undefined;
    link.newer = undefined;
    this.#size -= 1;
    return true;
  }

  /** What is in flight now, whatever becomes of it meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    const items: T[] = [];
    for (let link = this.#oldest; link !== undefined; link = link.newer) items.push(link.item);
    return items.values();
  }
}

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
