/** No tenant is held below this many events per second, however long the platform is behind. */
const LEAST_PER_SECOND = 100;
const LOWER_BY = 0.8;
const RAISE_BY = 1.1;
/** Once the level is this far above what the loudest tenant sends, it limits nobody and goes. */
const IRRELEVANT_ABOVE = 2;
/** A tenant may use this much of a second's share at once, so that batches pass whole. */
const BURST_SECONDS = 1;
/** Tenants that sent nothing for this long are forgotten. */
const FORGET_MS = 10_000;

interface Tenant {
  tokens: number;
  atMs: number;
  /** Events offered since the last tick. */
  offered: number;
  /** Smoothed offered events per second. */
  rate: number;
}

/**
 * Sheds load fairly: while the platform is behind there is a water level, the most events per second that any one tenant
 * may send. It comes down on the loudest first and does not touch who stays below it. No level, no limit.
 */
export class FairShare {
  readonly #tenants = new Map<string, Tenant>();
  #level = Number.POSITIVE_INFINITY;

  /** Most events per second for one tenant; Infinity where nobody is held back. */
  get level(): number {
    return this.#level;
  }

  /** Null where the events may come in; else how long to wait until they may, ms. */
  admit(tenantId: string, events: number, nowMs: number): number | null {
    const tenant = this.#tenant(tenantId, nowMs);
    tenant.offered += events;
    if (this.#level === Number.POSITIVE_INFINITY) return null;
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

  /** Called at a steady pace: lowers the level while the platform is overloaded, raises it while it is not. */
  tick(overloaded: boolean, sinceLastMs: number, nowMs: number): void {
    const loudest = this.#measure(Math.max(1, sinceLastMs), nowMs);
    if (overloaded) {
      const from = Math.min(this.#level, Math.max(loudest, LEAST_PER_SECOND));
      this.#level = Math.max(LEAST_PER_SECOND, from * LOWER_BY);
      return;
    }
    if (this.#level === Number.POSITIVE_INFINITY) return;
    this.#level *= RAISE_BY;
    if (this.#level > loudest * IRRELEVANT_ABOVE) this.#level = Number.POSITIVE_INFINITY;
  }

  /** Takes the offered rates of the last tick; answers the loudest. */
  #measure(sinceLastMs: number, nowMs: number): number {
    let loudest = 0;
    for (const [id, tenant] of this.#tenants) {
      tenant.rate = (tenant.rate + (tenant.offered * 1000) / sinceLastMs) / 2;
      tenant.offered = 0;
      loudest = Math.max(loudest, tenant.rate);
      if (nowMs - tenant.atMs > FORGET_MS && tenant.rate < 1) this.#tenants.delete(id);
    }
    return loudest;
  }

  #tenant(id: string, nowMs: number): Tenant {
    const known = this.#tenants.get(id);
    if (known !== undefined) return known;
    const level = this.#level === Number.POSITIVE_INFINITY ? 0 : this.#level;
    const tenant = { tokens: level * BURST_SECONDS, atMs: nowMs, offered: 0, rate: 0 };
    this.#tenants.set(id, tenant);
    return tenant;
  }
}
