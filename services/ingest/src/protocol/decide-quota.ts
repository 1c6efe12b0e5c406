import { BoundedMap, type Bucket, takeFrom } from '@agentlens/state';

/** Keys remembered; the one that was asked about longest ago makes room, which at worst fills its bucket. */
const MOST_KEYS = 10_000;

/**
 * Questions per second of each key, in a pool of their own: a flood of events must not keep an agent from asking, nor the
 * other way round. The rate is that of the key's events, and a second's worth may come at once. Each instance counts for
 * itself: a question may not cost a round trip to be counted.
 */
export class DecideQuota {
  readonly #buckets = new BoundedMap<Bucket>(MOST_KEYS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** False: the key has asked too often. */
  take(keyId: string, perSecond: number): boolean {
    const { bucket, answer } = takeFrom(this.#buckets.get(keyId), 1, perSecond, this.#now());
    this.#buckets.set(keyId, bucket);
    return answer.allowed;
  }
}
