import { LIFETIMES } from '../lifetimes.ts';
import {
  type IdempotencyStore,
  type IdempotentRequest,
  type OnceRequest,
  StateUnavailable,
  shortHash,
} from '../state-stores.ts';
import { fingerprint } from '../windows/plan.ts';
import { answered, type RedisConnection } from './connection.ts';
import { contentKey, idempotencyKey, onceKey } from './keys.ts';

/** Requests and event contents shared by all gateways. */
export class RedisIdempotencyStore implements IdempotencyStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async remember(tenantId: string, key: string, request: IdempotentRequest): Promise<IdempotentRequest> {
    const value = `${request.receivedAtMs} ${request.bodyHash}`;
    const call = this.#redis.set(idempotencyKey(tenantId, key), value, 'PX', LIFETIMES.idempotencyKey, 'NX', 'GET');
    return requestIn((await answered('remember', call)) ?? value);
  }

  async find(tenantId: string, key: string): Promise<IdempotentRequest | undefined> {
    const value = await answered('find', this.#redis.get(idempotencyKey(tenantId, key)));
    return value === null ? undefined : requestIn(value);
  }

  async begin(tenantId: string, key: string, request: OnceRequest): Promise<OnceRequest | null> {
    const [name, value] = [onceKey(tenantId, key), JSON.stringify(request)];
    const call = this.#redis.set(name, value, 'PX', LIFETIMES.idempotencyKey, 'NX', 'GET');
    const known = await answered('begin', call);
    return known === null ? null : (JSON.parse(known) as OnceRequest);
  }

  async finish(tenantId: string, key: string, request: OnceRequest): Promise<void> {
    const call = this.#redis.set(onceKey(tenantId, key), JSON.stringify(request), 'PX', LIFETIMES.idempotencyKey);
    await answered('finish', call);
  }

  async release(tenantId: string, key: string): Promise<void> {
    await answered('release', this.#redis.del(onceKey(tenantId, key)));
  }

  async conflicts(
    tenantId: string,
    events: readonly { readonly id: string; readonly hash: string }[],
  ): Promise<readonly string[]> {
    // Best effort: without Redis, a reused id is detected later by the unique key of the event.
    if (events.length === 0 || this.#redis.status !== 'ready') return [];
    const keys = events.map(({ id }) => contentKey(tenantId, fingerprint(id)));
    const hashes = events.map(({ hash }) => shortHash(hash));
    try {
      const call = this.#redis.rememberContents(keys.length, ...keys, LIFETIMES.eventContent, ...hashes);
      const positions = (await answered('conflicts', call)) as number[];
      return [...new Set(positions.map((position) => events[position - 1]?.id ?? ''))];
    } catch (error) {
      if (error instanceof StateUnavailable) return [];
      throw error;
    }
  }
}

function requestIn(value: string): IdempotentRequest {
  const [receivedAtMs, bodyHash = ''] = value.split(' ', 2);
  return { bodyHash, receivedAtMs: Number(receivedAtMs) };
}
