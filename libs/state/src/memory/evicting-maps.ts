/** A map of at most so many entries: the one that was set longest ago makes room. */
export class BoundedMap<V> {
  readonly #entries = new Map<string, V>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  /** The entry is the newest from now on. */
  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#most) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

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

const SWEEP_EVERY_MS = 30_000;

/** A map whose entries end. What has ended is never answered, and is let go of within half a minute of use. */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, { value: V; endsAtMs: number }>();
  readonly #now: () => number;
  #sweptAtMs: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#sweptAtMs = now();
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.endsAtMs > this.#now()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: V, ttlMs: number): void {
    const now = this.#now();
    this.#entries.set(key, { value, endsAtMs: now + ttlMs });
    if (now - this.#sweptAtMs >= SWEEP_EVERY_MS) this.#sweep(now);
  }

  /** Puts another value in the place of one that has not ended; it ends when that would have. */
  change(key: string, to: (value: V) => V): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.endsAtMs > this.#now()) entry.value = to(entry.value);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** What has not ended: key, value, end. */
  entries(): [string, V, number][] {
    const now = this.#now();
    return [...this.#entries].flatMap(([key, { value, endsAtMs }]) => (endsAtMs > now ? [[key, value, endsAtMs]] : []));
  }

  /** The entry as `entries` of an earlier map told it. */
  keep(key: string, value: V, endsAtMs: number): void {
    this.#entries.set(key, { value, endsAtMs });
  }

  #sweep(now: number): void {
    this.#sweptAtMs = now;
    for (const [key, entry] of this.#entries) if (entry.endsAtMs <= now) this.#entries.delete(key);
  }
}
