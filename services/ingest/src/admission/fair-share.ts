import { TenantRates } from './tenant-rates.ts';

/** No tenant is throttled below this many events per second, however long the platform is behind. */
const MIN_EVENTS_PER_SECOND = 100;
/** Seconds of its share that a tenant may use at once, so that batches pass whole. */
const BURST_SECONDS = 0.25;

interface Bucket {
  tokens: number;
  atMs: number;
}

/**
 * Divides the admission rate between tenants by max-min fairness. A water level caps the events per second of any one
 * tenant. It falls on the loudest tenants first; tenants below it are not affected.
 */
export class FairShare {
  /** What tenants offer, admitted or not. */
  readonly #offered = new TenantRates();
  /** Buckets of the tenants that were throttled to a level. */
  readonly #buckets = new Map<string, Bucket>();
  #level = Number.POSITIVE_INFINITY;
  #admitted = 0;

  /** Limit of events per second for one tenant; Infinity if no tenant is throttled. */
  get level(): number {
    return this.#level;
  }

  /** Number of events admitted so far. */
  get admitted(): number {
    return this.#admitted;
  }

  /** Returns null if the events are admitted; otherwise the time to wait, in milliseconds. */
  admit(tenantId: string, events: number, nowMs: number): number | null {
    this.#offered.add(tenantId, events);
    const waitMs = this.#level === Number.POSITIVE_INFINITY ? null : this.#take(tenantId, events, nowMs);
    if (waitMs === null) this.#admitted += events;
    return waitMs;
  }

  /** Measures what tenants offered since the last tick and divides `perSecond` among them. */
  share(perSecond: number, sinceLastMs: number): void {
    this.#offered.measure(sinceLastMs);
    for (const tenantId of this.#buckets.keys()) {
      // A tenant that sends almost nothing is forgotten, together with its debt.
      if (!this.#offered.perSecond.has(tenantId)) this.#buckets.delete(tenantId);
    }
    this.#level = Math.max(MIN_EVENTS_PER_SECOND, this.#waterLevel(perSecond));
  }

  #take(tenantId: string, events: number, nowMs: number): number | null {
    const burst = this.#level * BURST_SECONDS;
    const bucket = this.#buckets.get(tenantId) ?? { tokens: burst, atMs: nowMs };
    this.#buckets.set(tenantId, bucket);
    const elapsed = Math.max(0, nowMs - bucket.atMs);
    bucket.tokens = Math.min(burst, bucket.tokens + (elapsed / 1000) * this.#level);
    bucket.atMs = nowMs;
    // A request larger than the whole bucket passes when the bucket is full and leaves a debt; otherwise it could never
    // pass.
    const needed = Math.min(events, burst);
    if (bucket.tokens < needed) return Math.ceil(((needed - bucket.tokens) / this.#level) * 1000);
    bucket.tokens -= events;
    return null;
  }

  /** The level at which all tenants together get `perSecond`; Infinity if they ask for no more. */
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
