import { CALL_STEPS, callAllowance, type StepAllowance } from '@agentlens/guardrails';
import { BoundedMap, type Bucket, takeFrom } from '@agentlens/state';

/** What the rules of a tenant may spend per second, of about 20 million that a core does: dear calls of one tenant come alone. */
const STEPS_PER_SECOND = 2_000_000;
/** Tenants remembered; the one that asked longest ago makes room, which at worst fills its bucket. */
const MOST_TENANTS = 10_000;

/**
 * Bounds what the dear rules of one tenant cost the others that are decided in this process. Beyond it such rules are
 * `unavailable`, while its cheap ones (`FREE_STEPS`) go on as before.
 */
export class TenantSteps {
  readonly #buckets = new BoundedMap<Bucket>(MOST_TENANTS);
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
    const known = this.#buckets.get(tenantId);
    const { bucket, answer } = takeFrom(known, steps, STEPS_PER_SECOND, this.#now(), CALL_STEPS);
    this.#buckets.set(tenantId, bucket);
    return answer.allowed;
  }
}
