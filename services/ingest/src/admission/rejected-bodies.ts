import { ProblemException } from '@agentlens/platform';
import { BoundedMap, type Bucket } from '@agentlens/state';

/** Of each key. Reading a body costs 5 to 10 ns a byte even if nothing in it can be taken. */
const BYTES_PER_SECOND = 10_000_000;
const BURST_BYTES = 20_000_000;
/** Keys remembered; the oldest make room, which forgives them. */
const MAX_KEYS = 10_000;

/**
 * Charges each key for bodies that were read and rejected: the quota of events does not see them. A key that used up its
 * allowance is refused before its next body is read.
 */
export class RejectedBodies {
  readonly #buckets = new BoundedMap<Bucket>(MAX_KEYS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  charge(keyId: string, bytes: number): void {
    const atMs = this.#now();
    this.#buckets.set(keyId, { tokens: this.#allowance(keyId, atMs) - bytes, atMs });
  }

  /** @throws ProblemException 429 */
  refuseIfUsedUp(keyId: string): void {
    const bytes = this.#allowance(keyId, this.#now());
    if (bytes > 0) return;
    const seconds = Math.max(1, Math.ceil(-bytes / BYTES_PER_SECOND));
    throw new ProblemException(429, 'Too many rejected requests', {
      hint: `This API key sent more data that was rejected than it may. Mend what the answers named; wait ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
    });
  }

  #allowance(keyId: string, nowMs: number): number {
    const bucket = this.#buckets.get(keyId);
    if (bucket === undefined) return BURST_BYTES;
    const back = (Math.max(0, nowMs - bucket.atMs) / 1_000) * BYTES_PER_SECOND;
    return Math.min(BURST_BYTES, bucket.tokens + back);
  }
}
