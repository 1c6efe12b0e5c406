import type { AdvanceAnswer, AdvanceRequest, Series, Totals, WindowStore } from '@agentlens/guardrails';
import { questionOf } from '../windows/answer.ts';
import { epochOf, layoutOf } from '../windows/plan.ts';
import { seriesName } from '../windows/series-name.ts';
import { advanceCall } from './advance-call.ts';
import { answered, type RedisConnection } from './connection.ts';
import { WindowKeys } from './keys.ts';
import { RedisWindowMarker } from './redis-window-marker.ts';
import { SHAPES } from './ring-sets.ts';
import { readAdvanced, readTotals } from './window-reply.ts';

/** Windows shared by all evaluators: one script call for messages of one tenant, however many agents they are of. */
export class RedisWindowStore implements WindowStore {
  readonly marker: RedisWindowMarker;
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    this.marker = new RedisWindowMarker(redis);
  }

  async advance(request: AdvanceRequest): Promise<AdvanceAnswer> {
    const [answer] = await this.advanceAll([request]);
    if (answer === undefined) throw new Error('Redis answered for no message');
    return answer;
  }

  async advanceAll(requests: readonly AdvanceRequest[]): Promise<readonly AdvanceAnswer[]> {
    const [first] = requests;
    if (first === undefined) return [];
    // A message that was delivered twice at once is one message.
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
        throw new Error('Redis did not answer for every message');
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
