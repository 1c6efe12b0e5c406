import { BoundedMap, type Bucket, takeFrom } from '@agentlens/state';

/** Maximum number of keys tracked. Evicting the least recently used key at worst refills its bucket. */
const MAX_KEYS = 10_000;

/**
 * Limits the questions per second of each key, separately from events: a flood of events must not keep an agent from
 * asking, and vice versa. The rate is that of the key's events, with a burst of one second. Each instance counts
 * separately, because a question must not cost a round trip.
 */
export class DecideQuota {
  readonly #buckets = new BoundedMap<Bucket>(MAX_KEYS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns false if the key asks too often. */
  take(keyId: string, perSecond: number): boolean {
    const { bucket, answer } = takeFrom(this.#buckets.get(keyId), 1, perSecond, this.#now());
    this.#buckets.set(keyId, bucket);
    return answer.allowed;
  }
}
