import type { IdempotencyStore, IdempotentRequest } from '../idempotency-store.ts';
import { LIFETIMES } from '../lifetimes.ts';
import { ExpiringMap } from './expiring-map.ts';

/** Requests and event contents that one process remembers. */
export class MemoryIdempotencyStore implements IdempotencyStore {
  readonly #requests: ExpiringMap<IdempotentRequest>;
  readonly #contents: ExpiringMap<string>;

  constructor(now: () => number) {
    this.#requests = new ExpiringMap(now);
    this.#contents = new ExpiringMap(now);
  }

  async remember(tenantId: string, key: string, request: IdempotentRequest): Promise<IdempotentRequest> {
    const name = JSON.stringify([tenantId, key]);
    const known = this.#requests.get(name);
    if (known) return known;
    const remembered = { bodyHash: request.bodyHash, receivedAtMs: request.receivedAtMs };
    this.#requests.set(name, remembered, LIFETIMES.idempotencyKey);
    return remembered;
  }

  async conflicts(
    tenantId: string,
    events: readonly { readonly id: string; readonly hash: string }[],
  ): Promise<readonly string[]> {
    const conflicting = new Set<string>();
    for (const { id, hash } of events) {
      const name = JSON.stringify([tenantId, id]);
      const known = this.#contents.get(name);
      if (known === undefined) this.#contents.set(name, hash, LIFETIMES.eventContent);
      else if (known !== hash) conflicting.add(id);
    }
    return [...conflicting];
  }
}
