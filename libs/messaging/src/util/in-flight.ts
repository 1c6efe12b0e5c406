/** Handle of one item, used to delete it. */
export interface InFlightSlot<T> {
  readonly item: T;
}

interface Link<T> extends InFlightSlot<T> {
  older: Link<T> | undefined;
  newer: Link<T> | undefined;
  isHere: boolean;
}

/**
 * Items in progress, oldest first. Behaves like a `Set`, for items that come and go with every message or request.
 *
 * It is a linked list because of how V8 collects sets and maps. After a number of deletions they allocate a new table,
 * and the old table keeps a reference to it. Once a table has survived two minor collections, all later tables stay
 * reachable through it, with everything they contained, until the next full collection. A deleted link references
 * nothing.
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

  /** Returns false if the item was already deleted. */
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

  /** Iterates over a snapshot. */
  [Symbol.iterator](): Iterator<T> {
    const items: T[] = [];
    for (let link = this.#oldest; link !== undefined; link = link.newer) items.push(link.item);
    return items.values();
  }
}

/** Work that runs in the background and must finish before the process exits. */
export class BackgroundWork {
  readonly #running = new InFlight<Promise<unknown>>();

  get size(): number {
    return this.#running.size;
  }

  /** @param work must handle its own errors */
  add(work: Promise<unknown>): void {
    const place = this.#running.add(work);
    const leave = () => void this.#running.delete(place);
    work.then(leave, leave);
  }

  /** Resolves when all work that is running now has settled. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}
