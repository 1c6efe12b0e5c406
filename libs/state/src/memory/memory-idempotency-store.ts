import { LIFETIMES } from '../lifetimes.ts';
import { type IdempotencyStore, type IdempotentRequest, type OnceRequest, shortHash } from '../state-stores.ts';
import { RecentMap } from './evicting-maps.ts';

/** About 250 bytes each: 25 MB. Unbounded, a day at 100 requests per second would be 2 GB. */
const MAX_REQUESTS = 100_000;
/** About 2 kB each: 20 MB. */
const MAX_ANSWERS = 10_000;
/** About 130 bytes each: 13 MB. Unbounded, five minutes of full load would be hundreds of MB. */
const MAX_CONTENTS = 100_000;

/** Requests and event contents of one process. */
export class MemoryIdempotencyStore implements IdempotencyStore {
  readonly #requests: RecentMap<IdempotentRequest>;
  readonly #once: RecentMap<OnceRequest>;
  readonly #contents: RecentMap<string>;

  constructor(now: () => number) {
    this.#requests = new RecentMap(now, { ttlMs: LIFETIMES.idempotencyKey, maxEntries: MAX_REQUESTS });
    this.#once = new RecentMap(now, { ttlMs: LIFETIMES.idempotencyKey, maxEntries: MAX_ANSWERS });
    this.#contents = new RecentMap(now, { ttlMs: LIFETIMES.eventContent, maxEntries: MAX_CONTENTS });
  }

  async remember(tenantId: string, key: string, request: IdempotentRequest): Promise<IdempotentRequest> {
    const name = JSON.stringify([tenantId, key]);
    const known = this.#requests.get(name);
    if (known) return known;
    const remembered = { bodyHash: request.bodyHash, receivedAtMs: request.receivedAtMs };
    this.#requests.set(name, remembered);
    return remembered;
  }

  async find(tenantId: string, key: string): Promise<IdempotentRequest | undefined> {
    return this.#requests.get(JSON.stringify([tenantId, key]));
  }

  async begin(tenantId: string, key: string, request: OnceRequest): Promise<OnceRequest | null> {
    const known = this.#once.get(JSON.stringify([tenantId, key])) ?? null;
    if (known === null) await this.finish(tenantId, key, request);
    return known;
  }

  async finish(tenantId: string, key: string, request: OnceRequest): Promise<void> {
    this.#once.set(JSON.stringify([tenantId, key]), request);
  }

  async release(tenantId: string, key: string): Promise<void> {
    this.#once.delete(JSON.stringify([tenantId, key]));
  }

  async conflicts(
    tenantId: string,
    events: readonly { readonly id: string; readonly hash: string }[],
  ): Promise<readonly string[]> {
    const conflicting = new Set<string>();
    for (const event of events) {
      const { id } = event;
      const hash = shortHash(event.hash);
      const name = JSON.stringify([tenantId, id]);
      const known = this.#contents.get(name);
      if (known === undefined) this.#contents.set(name, hash);
      else if (known !== hash) conflicting.add(id);
    }
    return [...conflicting];
  }
}
