/** Map with a maximum size. Evicts the entry that was set longest ago. */
export class BoundedMap<V> {
  readonly #entries = new Map<string, V>();
  readonly #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
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

  /** Sets an entry and makes it the newest. */
  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#maxSize) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

interface RecentLimits {
  /** Minimum lifetime of an entry. It is evicted after at most twice this time. */
  readonly ttlMs: number;
  /** Maximum number of entries. The newest half is always kept. */
  readonly maxEntries: number;
}

/**
 * Bounded map for millions of recent entries. It keeps two generations and drops the older one as a whole, so that
 * eviction does not touch single entries.
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
    const { ttlMs, maxEntries } = this.#limits;
    const ageMs = this.#now() - this.#beganAtMs;
    if (ageMs < ttlMs && this.#newer.size < maxEntries / 2) return;
    this.#older = ageMs < 2 * ttlMs ? this.#newer : new Map();
    this.#newer = new Map();
    // Keep the rhythm after an idle period; start a new one if the map was full.
    this.#beganAtMs += ageMs < ttlMs ? ageMs : ageMs - (ageMs % ttlMs);
  }
}

const SWEEP_EVERY_MS = 30_000;

/** Map whose entries expire. Expired entries are never returned, and are removed within 30 s if the map is used. */
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

  /** Replaces the value of an entry that has not expired; keeps its expiry. */
  change(key: string, to: (value: V) => V): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.endsAtMs > this.#now()) entry.value = to(entry.value);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Entries that have not expired: key, value, expiry. */
  entries(): [string, V, number][] {
    const now = this.#now();
    return [...this.#entries].flatMap(([key, { value, endsAtMs }]) => (endsAtMs > now ? [[key, value, endsAtMs]] : []));
  }

  /** Restores an entry that `entries` returned. */
  keep(key: string, value: V, endsAtMs: number): void {
    this.#entries.set(key, { value, endsAtMs });
  }

  #sweep(now: number): void {
    this.#sweptAtMs = now;
    for (const [key, entry] of this.#entries) if (entry.endsAtMs <= now) this.#entries.delete(key);
  }
}
