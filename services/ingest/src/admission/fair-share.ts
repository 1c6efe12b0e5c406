/** No tenant is held below this many events per second, however long the platform is behind. */
const LEAST_PER_SECOND = 100;
/** A tenant may use this much of its share at once, so that batches pass whole. */
const BURST_SECONDS = 0.25;
/** Weight of the newest second in what a tenant is taken to send. */
const WEIGHT = 0.3;
/** Tenants that send less are forgotten. */
const FORGET_BELOW = 0.5;

interface Tenant {
  tokens: number;
  atMs: number;
  /** Events offered since the last tick, admitted or not. */
  offered: number;
  /** Smoothed offered events per second. */
  rate: number;
}

/**
 * Divides what may come in between the tenants, max-min fairly: there is a water level, the most events per second that
 * any one tenant may send, and it comes down on the loudest first. Who stays below it notices nothing.
 */
export class FairShare {
  readonly #tenants = new Map<string, Tenant>();
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
    const tenant = this.#tenant(tenantId, nowMs);
    tenant.offered += events;
    const waitMs = this.#level === Number.POSITIVE_INFINITY ? null : this.#take(tenant, events, nowMs);
    if (waitMs === null) this.#admitted += events;
    return waitMs;
  }

  /** Takes what tenants offered since the last tick into account and shares out `perSecond` among them. */
  share(perSecond: number, sinceLastMs: number): void {
    this.#measure(Math.max(1, sinceLastMs));
    this.#level = Math.max(LEAST_PER_SECOND, this.#waterLevel(perSecond));
  }

  #take(tenant: Tenant, events: number, nowMs: number): number | null {
    const burst = this.#level * BURST_SECONDS;
    const elapsed = Math.max(0, nowMs - tenant.atMs);
    tenant.tokens = Math.min(burst, tenant.tokens + (elapsed / 1000) * this.#level);
    tenant.atMs = nowMs;
    // A request larger than the whole bucket passes when the bucket is full and leaves a debt, or it never could.
    const needed = Math.min(events, burst);
    if (tenant.tokens < needed) return Math.ceil(((needed - tenant.tokens) / this.#level) * 1000);
    tenant.tokens -= events;
    return null;
  }

  /** The level at which the tenants together get `perSecond`; Infinity where they ask for no more. */
  #waterLevel(perSecond: number): number {
    const rates = [...this.#tenants.values()].map(({ rate }) => rate).sort((a, b) => a - b);
    let left = perSecond;
    for (const [i, rate] of rates.entries()) {
      const equal = left / (rates.length - i);
      if (rate > equal) return equal;
      left -= rate;
    }
    return Number.POSITIVE_INFINITY;
  }

  #measure(sinceLastMs: number): void {
    for (const [id, tenant] of this.#tenants) {
      tenant.rate += ((tenant.offered * 1000) / sinceLastMs - tenant.rate) * WEIGHT;
      tenant.offered = 0;
      if (tenant.rate < FORGET_BELOW) this.#tenants.delete(id);
    }
  }

  #tenant(id: string, nowMs: number): Tenant {
    const known = this.#tenants.get(id);
    if (known !== undefined) return known;
    const tokens = this.#level === Number.POSITIVE_INFINITY ? 0 : this.#level * BURST_SECONDS;
    const tenant = { tokens, atMs: nowMs, offered: 0, rate: 0 };
    this.#tenants.set(id, tenant);
    return tenant;
  }
}
