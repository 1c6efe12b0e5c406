import { CALL_STEPS, callAllowance, type StepAllowance } from '@agentlens/guardrails';

/** What the rules of a tenant may spend per second, of about 20 million that a core does: dear calls of one tenant come alone. */
const STEPS_PER_SECOND = 2_000_000;
/** Tenants remembered; the one that asked longest ago makes room, which at worst fills its bucket. */
const MOST_TENANTS = 10_000;

interface Bucket {
  left: number;
  atMs: number;
}

/**
 * Bounds what the dear rules of one tenant cost the others that are decided in this process. Beyond it such rules are
 * `unavailable`, while its cheap ones (`FREE_STEPS`) go on as before.
 */
export class TenantSteps {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What one call of the tenant may spend, over all rounds of asking its rules. */
  ofCall(tenantId: string): StepAllowance {
    const call = callAllowance();
    return { take: (steps) => call.take(steps) && this.#take(tenantId, steps) };
  }

  #take(tenantId: string, steps: number): boolean {
    const bucket = this.#bucket(tenantId);
    if (steps > bucket.left) return false;
    bucket.left -= steps;
    return true;
  }

  #bucket(tenantId: string): Bucket {
    const nowMs = this.#now();
    const bucket = this.#buckets.get(tenantId) ?? { left: CALL_STEPS, atMs: nowMs };
    const elapsedMs = Math.max(0, nowMs - bucket.atMs);
    bucket.left = Math.min(CALL_STEPS, bucket.left + (elapsedMs / 1000) * STEPS_PER_SECOND);
    bucket.atMs = nowMs;
    this.#buckets.delete(tenantId);
    this.#buckets.set(tenantId, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > MOST_TENANTS && oldest !== undefined) this.#buckets.delete(oldest);
    return bucket;
  }
}
