/** Smoothing weight of the newest reading; single readings jump by a request. */
const WEIGHT = 0.3;
/** Tenants below this rate are forgotten, in events per second. */
const FORGET_BELOW = 0.5;

/** Smoothed rate of each tenant, in events per second. */
export class TenantRates {
  readonly #sinceLast = new Map<string, number>();
  readonly #perSecond = new Map<string, number>();

  /** The rates as last measured. */
  get perSecond(): ReadonlyMap<string, number> {
    return this.#perSecond;
  }

  add(tenantId: string, events: number): void {
    this.#sinceLast.set(tenantId, (this.#sinceLast.get(tenantId) ?? 0) + events);
  }

  /** Takes into account what was added since the last call, and forgets tenants that send almost nothing. */
  measure(sinceLastMs: number): void {
    for (const tenantId of this.#sinceLast.keys()) {
      if (!this.#perSecond.has(tenantId)) this.#perSecond.set(tenantId, 0);
    }
    for (const [tenantId, before] of this.#perSecond) {
      const reading = ((this.#sinceLast.get(tenantId) ?? 0) * 1_000) / Math.max(1, sinceLastMs);
      const rate = before + (reading - before) * WEIGHT;
      if (rate < FORGET_BELOW) this.#perSecond.delete(tenantId);
      else this.#perSecond.set(tenantId, rate);
    }
    this.#sinceLast.clear();
  }
}

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
