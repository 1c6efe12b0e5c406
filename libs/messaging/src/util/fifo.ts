/** First in, first out. Unlike an array's, its first ones cost no more to take the more there are behind them. */
export class Fifo<T extends NonNullable<unknown>> {
  private entering: T[] = [];
  /** Turned round: its last one is the first of all. */
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

  /** Puts one back, before all others. */
  unshift(item: T): void {
    this.leaving.push(item);
  }

  shift(): T | undefined {
    if (this.leaving.length === 0) [this.leaving, this.entering] = [this.entering.reverse(), this.leaving];
    return this.leaving.pop();
  }

  /** The first ones, that many at most. */
  take(most: number): T[] {
    const taken: T[] = [];
    while (taken.length < most) {
      const item = this.shift();
      if (item === undefined) break;
      taken.push(item);
    }
    return taken;
  }
}
