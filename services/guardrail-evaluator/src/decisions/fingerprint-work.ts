import type { Unavailable } from '@agentlens/guardrails';
import { nextSlice } from '@agentlens/platform';
import { BoundedMap, type Bucket, takeFrom } from '@agentlens/state';
import type { Deadline } from './state-circuit.ts';

/** CPU time per second for the fingerprints of one tenant, in milliseconds. One call takes at most about 50. */
const MS_PER_SECOND = 200;
const BURST_MS = 500;
/** Maximum number of tenants tracked. Evicting the least recently used tenant at worst refills its bucket. */
const MAX_TENANTS = 10_000;

/**
 * Compares contents on behalf of decisions, one call per turn of the event loop. Work whose deadline has passed is
 * dropped, and a tenant that uses up its time waits for more, so that the calls of one tenant do not stall the others.
 */
export class FingerprintWork {
  readonly #buckets = new BoundedMap<Bucket>(MAX_TENANTS);
  readonly #now: () => number;

  /** @param now a monotonic clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async run<T>(tenantId: string, deadline: Pick<Deadline, 'leftMs'>, work: () => T): Promise<T | Unavailable> {
    await nextSlice();
    if (deadline.leftMs <= 0) return 'deadline';
    if (!this.#take(tenantId, 0)) return 'unavailable';
    const startedAtMs = this.#now();
    try {
      return work();
    } finally {
      this.#take(tenantId, this.#now() - startedAtMs);
    }
  }

  /** Time that was used is charged even if the bucket does not hold as much; the debt is paid before more is given. */
  #take(tenantId: string, ms: number): boolean {
    const { bucket } = takeFrom(this.#buckets.get(tenantId), 0, MS_PER_SECOND, this.#now(), BURST_MS);
    this.#buckets.set(tenantId, { ...bucket, tokens: bucket.tokens - ms });
    return bucket.tokens > 0;
  }
}
