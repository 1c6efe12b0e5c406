import { type EvaluatedMessage, type EvaluationTally, minuteOf } from '../evaluation-tally.ts';
import { LIFETIMES } from '../lifetimes.ts';
import { answered, type RedisConnection } from './connection.ts';
import { evaluatedKey, evaluatedSequencesKey } from './keys.ts';

/** A bit per message: 512 bytes, however few messages a minute has. */
const SEQUENCES_PER_KEY = 4_096;

/** The tally of all evaluators: a sum by tenant and a bit per message, so that a message counts once. */
export class RedisEvaluationTally implements EvaluationTally {
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
