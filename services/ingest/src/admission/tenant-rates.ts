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
