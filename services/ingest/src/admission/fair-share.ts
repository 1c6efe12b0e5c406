import { TenantRates } from './tenant-rates.ts';

/** No tenant is held below this many events per second, however long the platform is behind. */
const LEAST_PER_SECOND = 100;
/** A tenant may use this much of its share at once, so that batches pass whole. */
const BURST_SECONDS = 0.25;

interface Bucket {
  tokens: number;
  atMs: number;
}

/**
 * Divides what may come in between the tenants, max-min fairly: there is a water level, the most events per second that
 * any one tenant may send, and it comes down on the loudest first. Who stays below it notices nothing.
 */
export class FairShare {
  /** What tenants offer, admitted or not. */
  readonly #offered = new TenantRates();
  /** Of those that were held to a level. */
  readonly #buckets = new Map<string, Bucket>();
  #level = Number.POSITIVE_INFINITY;
  #admitted = 0;

  /** Most events per second for one tenant; Infinity where nobody is held back. */
  get level(): number {
    return this.#level;
  }

  /** Events let in so far. */
  get admitted(): number {
    return this.#admitted;
  }

  /** Null where the events may come in; else how long to wait until they may, ms. */
  admit(tenantId: string, events: number, nowMs: number): number | null {
    this.#offered.add(tenantId, events);
    const waitMs = this.#level === Number.POSITIVE_INFINITY ? null : this.#take(tenantId, events, nowMs);
    if (waitMs === null) this.#admitted += events;
    return waitMs;
  }

  /** Takes what tenants offered since the last tick into account and shares out `perSecond` among them. */
  share(perSecond: number, sinceLastMs: number): void {
    this.#offered.measure(sinceLastMs);
    for (const tenantId of this.#buckets.keys()) {
      // Who sends next to nothing is forgotten, and its debt with it.
      if (!this.#offered.perSecond.has(tenantId)) this.#buckets.delete(tenantId);
    }
    this.#level = Math.max(LEAST_PER_SECOND, this.#waterLevel(perSecond));
  }

  #take(tenantId: string, events: number, nowMs: number): number | null {
    const burst = this.#level * BURST_SECONDS;
    const bucket = this.#buckets.get(tenantId) ?? { tokens: burst, atMs: nowMs };
    this.#buckets.set(tenantId, bucket);
    const elapsed = Math.max(0, nowMs - bucket.atMs);
    bucket.tokens = Math.min(burst, bucket.tokens + (elapsed / 1000) * this.#level);
    bucket.atMs = nowMs;
    // A request larger than the whole bucket passes when the bucket is full and leaves a debt, or it never could.
    const needed = Math.min(events, burst);
    if (bucket.tokens < needed) return Math.ceil(((needed - bucket.tokens) / this.#level) * 1000);
    bucket.tokens -= events;
    return null;
  }

  /** The level at which the tenants together get `perSecond`; Infinity where they ask for no more. */
  #waterLevel(perSecond: number): number {
    const rates = [...this.#offered.perSecond.values()].sort((a, b) => a - b);
    let left = perSecond;
    for (const [i, rate] of rates.entries()) {
      const equal = left / (rates.length - i);
      if (rate > equal) return equal;
      left -= rate;
    }
    return Number.POSITIVE_INFINITY;
  }
}
