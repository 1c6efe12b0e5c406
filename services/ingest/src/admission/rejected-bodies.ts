import { ProblemException } from '@agentlens/platform';
import { BoundedMap, type Bucket, takeFrom } from '@agentlens/state';

/** Allowance per key. Reading a body costs 5 to 10 ns per byte even if everything in it is rejected. */
const BYTES_PER_SECOND = 10_000_000;
const BURST_BYTES = 20_000_000;
/** Maximum number of keys tracked. The oldest are evicted, which clears their charge. */
const MAX_KEYS = 10_000;

/**
 * Charges each key for bodies that were read and rejected, because the event quota does not count them. A key that has
 * used up its allowance is rejected before its next body is read.
 */
export class RejectedBodies {
  readonly #buckets = new BoundedMap<Bucket>(MAX_KEYS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  charge(keyId: string, bytes: number): void {
    const { tokens, atMs } = this.#refilled(keyId);
    this.#buckets.set(keyId, { tokens: tokens - bytes, atMs });
  }

  /** @throws ProblemException 429 */
  refuseIfUsedUp(keyId: string): void {
    const { tokens } = this.#refilled(keyId);
    if (tokens > 0) return;
    const seconds = Math.max(1, Math.ceil(-tokens / BYTES_PER_SECOND));
    throw new ProblemException(429, 'Too many rejected requests', {
      hint: `This API key sent more rejected data than it may. Fix what the answers named, then wait ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
    });
  }

  /** The body was read already, so its charge always fits: only the refill of the bucket is shared with quotas. */
  #refilled(keyId: string): Bucket {
    return takeFrom(this.#buckets.get(keyId), 0, BYTES_PER_SECOND, this.#now(), BURST_BYTES).bucket;
  }
}
