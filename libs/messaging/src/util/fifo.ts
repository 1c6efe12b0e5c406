/** First-in, first-out queue. Unlike an array, taking the first item does not become slower as the queue grows. */
export class Fifo<T extends NonNullable<unknown>> {
  private entering: T[] = [];
  /** In reverse order: the last element is the head of the queue. */
  private leaving: T[] = [];

  get length(): number {
    return this.entering.length + this.leaving.length;
  }

  get first(): T | undefined {
    return this.leaving.at(-1) ?? this.entering[0];
  }

  push(item: T): void {
    this.entering.push(item);
  }

  /** Puts an item back at the head. */
  unshift(item: T): void {
    this.leaving.push(item);
  }

  shift(): T | undefined {
    if (this.leaving.length === 0) [this.leaving, this.entering] = [this.entering.reverse(), this.leaving];
    return this.leaving.pop();
  }

  /** Removes and returns up to `max` items from the head. */
  take(max: number): T[] {
    const taken: T[] = [];
    while (taken.length < max) {
      const item = this.shift();
      if (item === undefined) break;
      taken.push(item);
    }
    return taken;
  }
}
