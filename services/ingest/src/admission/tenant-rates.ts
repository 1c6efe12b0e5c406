/** Weight of the newest reading; single ones jump by a request. */
const WEIGHT = 0.3;
/** Tenants that send less are forgotten, events per second. */
const FORGET_BELOW = 0.5;

/** What each tenant sends, smoothed, events per second. */
export class TenantRates {
  readonly #sinceLast = new Map<string, number>();
  readonly #perSecond = new Map<string, number>();

  /** As last measured. */
  get perSecond(): ReadonlyMap<string, number> {
    return this.#perSecond;
  }

  add(tenantId: string, events: number): void {
    this.#sinceLast.set(tenantId, (this.#sinceLast.get(tenantId) ?? 0) + events);
  }

  /** Takes what was added since the last time into account, and forgets who sends next to nothing. */
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
