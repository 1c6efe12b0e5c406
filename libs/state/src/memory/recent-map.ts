interface RecentLimits {
  /** An entry that was set so long ago may be gone, one set twice as long ago is. */
  readonly ttlMs: number;
  /** Entries at once. The newer half of them is always there. */
  readonly most: number;
}

/**
 * A bounded map of what came lately, for what is known by the million: two generations, of which the older is let go of as a
 * whole, so that forgetting needs no look at each entry.
 */
export class RecentMap<V extends NonNullable<unknown>> {
  readonly #now: () => number;
  readonly #limits: RecentLimits;
  #newer = new Map<string, V>();
  #older = new Map<string, V>();
  #beganAtMs: number;

  constructor(now: () => number, limits: RecentLimits) {
    this.#now = now;
    this.#limits = limits;
    this.#beganAtMs = now();
  }

  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  get(key: string): V | undefined {
    this.#turn();
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  set(key: string, value: V): void {
    this.#turn();
    this.#newer.set(key, value);
  }

  delete(key: string): void {
    this.#newer.delete(key);
    this.#older.delete(key);
  }

  #turn(): void {
    const { ttlMs, most } = this.#limits;
    const ageMs = this.#now() - this.#beganAtMs;
    if (ageMs < ttlMs && this.#newer.size < most / 2) return;
    this.#older = ageMs < 2 * ttlMs ? this.#newer : new Map();
    this.#newer = new Map();
    // On time also where nobody looked for a while; before its time where it is full.
    this.#beganAtMs += ageMs < ttlMs ? ageMs : ageMs - (ageMs % ttlMs);
  }
}
