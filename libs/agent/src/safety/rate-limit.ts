import type { RateLimit } from './safety-policy.ts';

/** Counts calls in sliding windows; the caller passes the time. */
export class RateLimiter {
  readonly #limits: Readonly<Record<string, RateLimit>>;
  readonly #taken = new Map<string, number[]>();

  constructor(limits: Readonly<Record<string, RateLimit>> = {}) {
    this.#limits = limits;
  }

  /** Takes one call, or returns the wait in ms until one is allowed. */
  take(tool: string, nowMs: number): number | null {
    const keys = [tool, '*'].filter((key) => this.#limits[key] !== undefined);
    const waits = keys.map((key) => this.#waitMs(key, nowMs));
    const longest = Math.max(0, ...waits);
    if (longest > 0) return longest;
    for (const key of keys) this.#taken.get(key)?.push(nowMs);
    return null;
  }

  #waitMs(key: string, nowMs: number): number {
    const limit = this.#limits[key];
    if (limit === undefined) return 0;
    const recent = (this.#taken.get(key) ?? []).filter((at) => at > nowMs - limit.perMs);
    this.#taken.set(key, recent);
    const [oldest] = recent;
    return oldest === undefined || recent.length < limit.max ? 0 : oldest + limit.perMs - nowMs;
  }
}
