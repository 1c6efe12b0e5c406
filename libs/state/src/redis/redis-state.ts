import type { StateStores } from '../state-stores.ts';
import { connect, type RedisStateOptions } from './connection.ts';
import { RedisBreakerStore } from './redis-breaker-store.ts';
import { RedisBudgetStore } from './redis-budget-store.ts';
import { RedisCallHistory } from './redis-call-history.ts';
import { RedisCooldownStore } from './redis-cooldown-store.ts';
import { RedisEvaluationTally } from './redis-evaluation-tally.ts';
import { RedisIdempotencyStore } from './redis-idempotency-store.ts';
import { RedisPresence } from './redis-presence.ts';
import { RedisQuota } from './redis-quota.ts';
import { RedisRunContexts } from './redis-run-contexts.ts';
import { RedisWindowStore } from './redis-window-store.ts';

/** State shared by every process on one Redis (7.0 or newer), over one connection. */
export async function connectRedisState(options: RedisStateOptions): Promise<StateStores> {
  const redis = await connect(options);
  return {
    windows: new RedisWindowStore(redis),
    cooldowns: new RedisCooldownStore(redis),
    quota: new RedisQuota(redis),
    idempotency: new RedisIdempotencyStore(redis),
    calls: new RedisCallHistory(redis),
    breakers: new RedisBreakerStore(redis),
    budgets: new RedisBudgetStore(redis),
    presence: new RedisPresence(redis, () => Date.now()),
    runContexts: new RedisRunContexts(redis),
    evaluationTally: new RedisEvaluationTally(redis),
    healthy: () => redis.status === 'ready',
    close: async () => {
      // QUIT lets calls under way finish; a connection that is already gone is only let go of.
      if (redis.status === 'ready') await redis.quit().catch(() => undefined);
      redis.disconnect();
    },
  };
}
