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
