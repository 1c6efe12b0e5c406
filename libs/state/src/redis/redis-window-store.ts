import type { AdvanceAnswer, AdvanceRequest, CooldownHolder, Series, Totals, WindowStore } from '@agentlens/guardrails';
import { toNumber } from '../exact-sum.ts';
import { answerAgain, NOTHING_SEEN, type Question, questionOf } from '../windows/answer.ts';
import { epochOf, layoutOf } from '../windows/plan.ts';
import { seriesName } from '../windows/series-name.ts';
import { advanceCall, SHAPES } from './advance-call.ts';
import { answered, type RedisConnection } from './connection.ts';
import { AgentKeys } from './keys.ts';
import { RedisWindowMarker } from './redis-window-marker.ts';

/** Count, high, low, and above shape 0 least, greatest, newest time, newest value, bins; `[0]` for nothing. */
type CellReply = [number, number?, number?, number?, number?, number?, number?, Record<string, number>?];
/** The answer, or, with a 1, the question and answer that were kept. */
type AdvanceReply = readonly [text: string, repeated?: number];
type AnswerReply = [totals: CellReply[], duplicates: number[], cooling: (string | null)[]];

/** Windows shared by all evaluators: one script call per agent, however many messages. */
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
    // A message that was delivered twice at once is one message.
    const messages = [...new Map(requests.map((request) => [request.messageId, request])).values()];
    const questions = messages.map(questionOf);
    const { keys, body } = advanceCall(messages, questions);
    const names = questions.map((question) => JSON.stringify(question));
    const call = this.#redis.advanceWindows(keys.length, ...keys, JSON.stringify(body), ...names);
    const replies = (await answered('advance', call)) as AdvanceReply[];
    const positions = new Map(messages.map(({ messageId }, position) => [messageId, position]));
    return requests.map(({ messageId }) => {
      const position = positions.get(messageId) ?? -1;
      const [question, reply] = [questions[position], replies[position]];
      if (question === undefined || reply === undefined) throw new Error('Redis did not answer for every message');
      return answerTo(question, reply);
    });
  }

  async read(tenantId: string, agentId: string, nowMs: number, series: readonly Series[]): Promise<readonly Totals[]> {
    if (series.length === 0) return [];
    const agent = new AgentKeys(tenantId, agentId);
    const keys = series.map((one) => agent.window(seriesName(one)));
    const specs = series.map((one) => {
      const layout = layoutOf(one);
      return [layout.bucketMs === null ? 0 : 1, epochOf(layout, nowMs), SHAPES[layout.shape]];
    });
    const call = this.#redis.readWindows(keys.length, ...keys, JSON.stringify(specs));
    return (JSON.parse((await answered('read', call)) as string) as CellReply[]).map(totalsOf);
  }
}

function answerTo(question: Question, [text, repeated]: AdvanceReply): AdvanceAnswer {
  if (!repeated) return answerOf(JSON.parse(text) as AnswerReply);
  const split = text.indexOf('\n');
  const kept = JSON.parse(text.slice(0, split)) as Question;
  return answerAgain(question, kept, answerOf(JSON.parse(text.slice(split + 1)) as AnswerReply));
}

function answerOf([totals, duplicates, cooling]: AnswerReply): AdvanceAnswer {
  return { before: totals.map(totalsOf), duplicates, cooling: cooling.map(holderOf) };
}

function holderOf(held: string | null): CooldownHolder | null {
  if (held === null) return null;
  const space = held.indexOf(' ');
  return { atMs: Number(held.slice(0, space)), triggerId: held.slice(space + 1) };
}

function totalsOf([count, high = 0, low = 0, min, max, atMs, value, bins]: CellReply): Totals {
  if (count === 0) return NOTHING_SEEN;
  return {
    count,
    sum: toNumber({ high, low }),
    min: min ?? null,
    max: max ?? null,
    last: atMs === undefined || value === undefined ? null : { atMs, value },
    bins: bins ?? {},
  };
}
