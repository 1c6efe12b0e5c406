import { LIFETIMES } from '../lifetimes.ts';
import { burstOf, MemoryQuota, type Quota, type QuotaAnswer, quotaAnswer } from '../quota.ts';
import {
  type CountedTreeLimits,
  type EvaluatedMessage,
  type EvaluationTally,
  type Instance,
  minuteOf,
  type Presence,
  type ReachedTreeLimit,
  type RunContext,
  type RunContexts,
  type RunTrees,
  type StateStores,
  StateUnavailable,
  type TreeMember,
  withoutActor,
} from '../state-stores.ts';
import { answered, connect, type RedisConnection, type RedisStateOptions } from './connection.ts';
import {
  childrenKey,
  evaluatedKey,
  evaluatedSequencesKey,
  presenceKey,
  quotaKey,
  refusedRunKey,
  runContextKey,
  treeKey,
} from './keys.ts';
import { RedisBreakerStore } from './redis-breaker-store.ts';
import { RedisBudgetStore } from './redis-budget-store.ts';
import { RedisCallHistory, RedisLabelStore } from './redis-call-history.ts';
import { RedisIdempotencyStore } from './redis-idempotency-store.ts';
import { RedisCooldownStore, RedisWindowStore } from './redis-window-store.ts';

/** One bit per message: 512 bytes per key, even for few messages. */
const SEQUENCES_PER_KEY = 4_096;

/** Evaluation tally of all evaluators: a sum per tenant and a bit per message, so that a message counts once. */
class RedisEvaluationTally implements EvaluationTally {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async add(messages: readonly EvaluatedMessage[]): Promise<void> {
    const byMinute = Map.groupBy(messages, ({ receivedAtMs }) => minuteOf(receivedAtMs));
    await Promise.all([...byMinute].map(([minuteMs, own]) => this.#addMinute(minuteMs, own)));
  }

  async read(minuteMs: number): Promise<ReadonlyMap<string, number>> {
    const counts = await answered('evaluated', this.#redis.hgetall(evaluatedKey(minuteMs)));
    return new Map(Object.entries(counts).map(([tenantId, events]) => [tenantId, Number(events)]));
  }

  async #addMinute(minuteMs: number, messages: readonly EvaluatedMessage[]): Promise<void> {
    const keys = [evaluatedKey(minuteMs)];
    const places = new Map<number, number>();
    const calls: (string | number)[] = [];
    for (const { tenantId, sequence, events } of messages) {
      const block = Math.floor(sequence / SEQUENCES_PER_KEY);
      const place = places.get(block) ?? keys.push(evaluatedSequencesKey(minuteMs, block));
      places.set(block, place);
      calls.push(place, sequence % SEQUENCES_PER_KEY, tenantId, events);
    }
    await answered('tally', this.#redis.tallyEvaluated(keys.length, ...keys, LIFETIMES.evaluationTally, ...calls));
  }
}

/** Instances connected to any gateway: one sorted set per tenant, scored by expiry. */
class RedisPresence implements Presence {
  readonly #redis: RedisConnection;
  readonly #now: () => number;

  /** @param now clock; the gateways' clocks may differ by a fraction of the TTL */
  constructor(redis: RedisConnection, now: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  async touch(tenantId: string, agentId: string, instanceId: string, ttlMs: number): Promise<void> {
    const key = presenceKey(tenantId);
    const nowMs = this.#now();
    const call = this.#redis
      .multi()
      .zremrangebyscore(key, '-inf', nowMs)
      .zadd(key, nowMs + ttlMs, JSON.stringify([agentId, instanceId]))
      .pexpire(key, Math.max(ttlMs, MIN_KEY_TTL_MS))
      .exec();
    await answered('touch', call);
  }

  async list(tenantId: string, agentId?: string): Promise<readonly Instance[]> {
    const call = this.#redis.zrangebyscore(presenceKey(tenantId), `(${this.#now()}`, '+inf');
    const names = await answered('list', call);
    return names
      .map((name) => JSON.parse(name) as [string, string])
      .filter(([agent]) => agentId === undefined || agent === agentId)
      .map(([agent, instanceId]) => ({ agentId: agent, instanceId }));
  }
}

/** Keeps the key alive for other instances if one with a short TTL is touched. */
const MIN_KEY_TTL_MS = 600_000;

/**
 * Quotas shared by all gateways. While Redis is unreachable, every process counts on its own, which is too generous but
 * better than refusing all requests.
 */
class RedisQuota implements Quota {
  readonly #redis: RedisConnection;
  readonly #fallback = new MemoryQuota(Date.now);

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async take(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer> {
    // Waiting for a reconnect would block every request to the gateway.
    if (this.#redis.status !== 'ready') return this.#fallback.take(keyId, cost, perSecond, nowMs);
    try {
      return await this.#takeShared(keyId, cost, perSecond, nowMs);
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      return this.#fallback.take(keyId, cost, perSecond, nowMs);
    }
  }

  async #takeShared(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer> {
    const burst = burstOf(perSecond);
    const call = this.#redis.takeTokens(1, quotaKey(keyId), cost, perSecond, burst, nowMs);
    const [allowed, tokens] = (await answered('take', call)) as [number, string];
    return quotaAnswer(allowed === 1, Number(tokens), Math.min(cost, burst), perSecond);
  }
}

/** Runs that were started at any gateway. */
class RedisRunContexts implements RunContexts {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async keep(tenantId: string, runId: string, context: RunContext): Promise<RunContext> {
    const key = runContextKey(tenantId, runId);
    const call = this.#redis.set(key, JSON.stringify(context), 'PX', LIFETIMES.run, 'NX', 'GET');
    const kept = await answered('keep', call);
    return kept === null ? context : (JSON.parse(kept) as RunContext);
  }

  async find(tenantId: string, runId: string): Promise<RunContext | undefined> {
    const kept = await answered('find', this.#redis.get(runContextKey(tenantId, runId)));
    return kept === null ? undefined : (JSON.parse(kept) as RunContext);
  }

  /** A context never changes otherwise, so reading and writing need no transaction. */
  async forgetActor(tenantId: string, runIds: readonly string[]): Promise<void> {
    for (const runId of runIds) {
      const key = runContextKey(tenantId, runId);
      const kept = await answered('find', this.#redis.get(key));
      if (kept !== null) await answered('forget', this.#redis.set(key, withoutActor(kept), 'KEEPTTL', 'XX'));
    }
  }
}

/** Trees of the runs that were started at any gateway. */
class RedisRunTrees implements RunTrees {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  enter(member: TreeMember, limits: CountedTreeLimits): Promise<ReachedTreeLimit | undefined> {
    return this.#enter(member, limits, 'enter');
  }

  retry(member: TreeMember, limits: CountedTreeLimits): Promise<ReachedTreeLimit | undefined> {
    return this.#enter(member, limits, 'retry');
  }

  async #enter(
    { tenantId, runId, ancestors }: TreeMember,
    { maxChildren, maxRuns }: CountedTreeLimits,
    how: 'enter' | 'retry',
  ): Promise<ReachedTreeLimit | undefined> {
    const [parent] = ancestors;
    const root = ancestors.at(-1) ?? parent;
    const lower = [runId, ...ancestors.slice(0, -1)].map((id) => treeKey(tenantId, id));
    const keys = [refusedRunKey(tenantId, runId), childrenKey(tenantId, parent), treeKey(tenantId, root), ...lower];
    const limits = [maxChildren ?? -1, maxRuns ?? -1];
    const call = this.#redis.enterTree(keys.length, ...keys, how, runId, root, ...limits, LIFETIMES.run);
    const reached = (await answered('enterTree', call)) as ReachedTreeLimit | null;
    return reached ?? undefined;
  }
}

/** State shared by all processes in one Redis (7.0 or newer), over one connection. */
export async function connectRedisState(options: RedisStateOptions): Promise<StateStores> {
  const redis = await connect(options);
  return {
    windows: new RedisWindowStore(redis),
    cooldowns: new RedisCooldownStore(redis),
    quota: new RedisQuota(redis),
    idempotency: new RedisIdempotencyStore(redis),
    calls: new RedisCallHistory(redis),
    labels: new RedisLabelStore(redis),
    breakers: new RedisBreakerStore(redis),
    budgets: new RedisBudgetStore(redis),
    presence: new RedisPresence(redis, () => Date.now()),
    runContexts: new RedisRunContexts(redis),
    runTrees: new RedisRunTrees(redis),
    evaluationTally: new RedisEvaluationTally(redis),
    healthy: () => redis.status === 'ready',
    close: async () => {
      // QUIT lets pending calls finish; a lost connection is just closed.
      if (redis.status === 'ready') await redis.quit().catch(() => undefined);
      redis.disconnect();
    },
  };
}
