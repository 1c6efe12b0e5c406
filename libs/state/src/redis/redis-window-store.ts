import { randomUUID } from 'node:crypto';
import type {
  AdvanceAnswer,
  AdvanceRequest,
  Completeness,
  CooldownClaim,
  CooldownStore,
  Rearming,
  Series,
  Totals,
  WindowMarker,
  WindowStore,
} from '@agentlens/guardrails';
import { LIFETIMES } from '../lifetimes.ts';
import { epochOf, layoutOf } from '../windows/plan.ts';
import { cooldownName, questionOf, seriesName } from '../windows/question.ts';
import { advanceCall, SHAPES } from './advance-call.ts';
import { answered, type RedisConnection } from './connection.ts';
import { WindowKeys } from './keys.ts';
import { readAdvanced, readTotals } from './window-reply.ts';

const KEY = 'windows:since';
const RECOUNTING = 'recounting:';
const SCANS = 10;
const SCANNED = 1_000;

/**
 * Stores since when the windows are complete. The key is lost together with the windows, which is how a loss is
 * detected. The caller that finds it missing puts a lease in its place for the duration of the recount. A second loss
 * deletes the lease too, so a recount that lost data is never marked as complete.
 */
class RedisWindowMarker implements WindowMarker {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Treats windows that were counted before the marker existed as complete. */
  async adopt(): Promise<void> {
    for (let cursor = '0', scan = 0; scan < SCANS; scan++) {
      const page = this.#redis.scan(cursor, 'MATCH', 'windows:{*', 'COUNT', SCANNED);
      const [next, keys] = await answered('adopt', page);
      if (keys.length > 0) {
        await answered('adopt', this.#redis.set(KEY, '0', 'NX'));
        return;
      }
      if (next === '0') return;
      cursor = next;
    }
  }

  async look(leaseMs: number): Promise<Completeness> {
    const turn = randomUUID();
    const held = await answered('look', this.#redis.set(KEY, RECOUNTING + turn, 'PX', leaseMs, 'NX', 'GET'));
    if (held === null) return { kind: 'lost', turn };
    return held.startsWith(RECOUNTING) ? { kind: 'recounting' } : { kind: 'since', atMs: Number(held) };
  }

  async holds(turn: string): Promise<boolean> {
    return (await answered('holds', this.#redis.get(KEY))) === RECOUNTING + turn;
  }

  async recounted(turn: string, sinceMs: number): Promise<boolean> {
    return (await answered('recounted', this.#redis.endRecount(1, KEY, RECOUNTING + turn, String(sinceMs)))) === 1;
  }
}

/** Windows shared by all evaluators. Messages of one tenant take one script call, for any number of agents. */
export class RedisWindowStore implements WindowStore {
  readonly marker: RedisWindowMarker;
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    this.marker = new RedisWindowMarker(redis);
  }

  async advance(request: AdvanceRequest): Promise<AdvanceAnswer> {
    const [answer] = await this.advanceAll([request]);
    if (answer === undefined) throw new Error('Redis returned no answer for the message');
    return answer;
  }

  async advanceAll(requests: readonly AdvanceRequest[]): Promise<readonly AdvanceAnswer[]> {
    const [first] = requests;
    if (first === undefined) return [];
    // A message that is delivered twice at the same time counts once.
    const known = new Map<string, number>();
    const messages: AdvanceRequest[] = [];
    const positions = requests.map((request) => {
      const key = `${request.messageId} ${request.agentId}`;
      const position = known.get(key) ?? messages.push(request) - 1;
      known.set(key, position);
      return position;
    });
    const questions = messages.map(questionOf);
    const { keys, args, coming } = advanceCall(first.tenantId, messages, questions);
    const call = this.#redis.advanceWindowsBuffer(keys.length, ...keys, ...args);
    const replies = (await answered('advance', call)) as Buffer[];
    return positions.map((position) => {
      const [question, values, reply] = [questions[position], coming[position], replies[position]];
      if (values === undefined || question === undefined || reply === undefined) {
        throw new Error('Redis did not return an answer for every message');
      }
      return readAdvanced(values, question, reply);
    });
  }

  async forget(tenantId: string, agentId: string, messageIds: readonly string[]): Promise<void> {
    const keys = new WindowKeys(tenantId);
    await answered('forget', this.#redis.del(messageIds.map((messageId) => keys.inbox(agentId, messageId))));
  }

  async read(tenantId: string, agentId: string, nowMs: number, series: readonly Series[]): Promise<readonly Totals[]> {
    if (series.length === 0) return [];
    const windowKeys = new WindowKeys(tenantId);
    const keys = [windowKeys.rings(agentId)];
    const names = series.map(seriesName);
    const asked = series.flatMap((one, index) => {
      const [layout, name] = [layoutOf(one), names[index] ?? ''];
      const shape = SHAPES[layout.shape];
      if (layout.bucketMs !== null) return [name, shape, epochOf(layout, nowMs)];
      return [keys.push(windowKeys.total(agentId, name)), shape, null];
    });
    const call = this.#redis.readWindowsBuffer(keys.length, ...keys, JSON.stringify(asked));
    const replies = (await answered('read', call)) as Buffer[];
    return names.map((name, index) => readTotals(name, replies[index] ?? NONE));
  }
}

const NONE = Buffer.alloc(0);

/** Cooldowns shared by all evaluators. */
export class RedisCooldownStore implements CooldownStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async claim({ tenantId, agentId, ruleId, dryRun, triggerId, atMs, cooldownMs }: CooldownClaim): Promise<boolean> {
    if (cooldownMs <= 0) return true;
    const key = new WindowKeys(tenantId).cooldowns(agentId);
    const lifetime = cooldownMs + LIFETIMES.cooldownSlack;
    const name = cooldownName({ ruleId, dryRun });
    const call = this.#redis.claimCooldown(1, key, triggerId, atMs, cooldownMs, lifetime, name);
    return (await answered('claim', call)) === 1;
  }

  async rearm({ tenantId, agentId, ruleIds, atMs }: Rearming): Promise<void> {
    const key = new WindowKeys(tenantId).cooldowns(agentId);
    const names = ruleIds.map((ruleId) => cooldownName({ ruleId, dryRun: false }));
    await answered('rearm', this.#redis.rearmCooldowns(1, key, atMs, ...names));
  }
}
