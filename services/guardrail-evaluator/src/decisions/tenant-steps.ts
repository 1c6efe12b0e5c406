import { CALL_STEPS, callAllowance, type StepAllowance } from '@agentlens/guardrails';
import { BoundedMap, type Bucket, takeFrom } from '@agentlens/state';

/** Evaluation steps per second for expensive rules of one tenant. A core does about 20 million. */
const STEPS_PER_SECOND = 2_000_000;
/** Maximum number of tenants tracked. Evicting the least recently used tenant at worst refills its bucket. */
const MAX_TENANTS = 10_000;

/**
 * Bounds what expensive rules of one tenant cost the other tenants in this process. Over the bound, such rules are
 * `unavailable`, while the tenant's cheap rules (`FREE_STEPS`) work as before.
 */
export class TenantSteps {
  readonly #buckets = new BoundedMap<Bucket>(MAX_TENANTS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The allowance of one call, over all rounds in which its rules are evaluated. */
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
