import { type IdempotencyStore, type IdempotentRequest, shortHash } from '../idempotency-store.ts';
import { LIFETIMES } from '../lifetimes.ts';
import { RecentMap } from './recent-map.ts';

/** Some 250 bytes each: 25 MB, where all that come in a day at a hundred a second would be two gigabytes. */
const MOST_REQUESTS = 100_000;
/** Some 130 bytes each: 13 MB, where all that come in five minutes of full load would be hundreds. */
const MOST_CONTENTS = 100_000;

/** Requests and event contents that one process remembers. */
export class MemoryIdempotencyStore implements IdempotencyStore {
  readonly #requests: RecentMap<IdempotentRequest>;
  readonly #contents: RecentMap<string>;

  constructor(now: () => number) {
    this.#requests = new RecentMap(now, { ttlMs: LIFETIMES.idempotencyKey, most: MOST_REQUESTS });
    this.#contents = new RecentMap(now, { ttlMs: LIFETIMES.eventContent, most: MOST_CONTENTS });
  }

  async remember(tenantId: string, key: string, request: IdempotentRequest): Promise<IdempotentRequest> {
    const name = JSON.stringify([tenantId, key]);
    const known = this.#requests.get(name);
    if (known) return known;
    const remembered = { bodyHash: request.bodyHash, receivedAtMs: request.receivedAtMs };
    this.#requests.set(name, remembered);
    return remembered;
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
