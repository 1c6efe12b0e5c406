import { LIFETIMES } from '../lifetimes.ts';
import type { RunContext, RunContexts } from '../run-contexts.ts';
import { answered, type RedisConnection } from './connection.ts';
import { runContextKey } from './keys.ts';

/** Runs that were started at any gateway. */
export class RedisRunContexts implements RunContexts {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async keep(tenantId: string, runId: string, context: RunContext): Promise<void> {
    const call = this.#redis.set(runContextKey(tenantId, runId), JSON.stringify(context), 'PX', LIFETIMES.run, 'NX');
    await answered('keep', call);
  }

  async find(tenantId: string, runId: string): Promise<RunContext | undefined> {
    const kept = await answered('find', this.#redis.get(runContextKey(tenantId, runId)));
    return kept === null ? undefined : (JSON.parse(kept) as RunContext);
  }
}
