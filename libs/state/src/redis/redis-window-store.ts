import type {
  AdvanceAnswer,
  AdvanceRequest,
  CooldownHolder,
  Series,
  SeriesShape,
  Totals,
  WindowStore,
} from '@agentlens/guardrails';
import { toNumber } from '../exact-sum.ts';
import { LIFETIMES } from '../lifetimes.ts';
import { addedUp } from '../windows/added-up.ts';
import { answerAgain, NOTHING_SEEN, type Question, questionOf } from '../windows/answer.ts';
import { type Contribution, epochOf, layoutOf, type PlannedSeries, planSeen, planSeries } from '../windows/plan.ts';
import { seriesName } from '../windows/series-name.ts';
import { answered, type RedisConnection } from './connection.ts';
import { AgentKeys } from './keys.ts';

/** Count, high, low, and above shape 0 least, greatest, newest time, newest value, bins; `[0]` for nothing. */
type CellReply = [number, number?, number?, number?, number?, number?, number?, Record<string, number>?];
type AnswerReply = [totals: CellReply[], duplicates: number[], cooling: (string | null)[]];

const SHAPES: Record<SeriesShape, number> = { sum: 0, spread: 1, quantiles: 2 };

/** Windows shared by all evaluators: one script call per agent and message. */
export class RedisWindowStore implements WindowStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async advance(request: AdvanceRequest): Promise<AdvanceAnswer> {
    const question = questionOf(request);
    const names = JSON.stringify(question);
    const { keys, body } = callOf(request, question);
    const call = this.#redis.advanceWindows(keys.length, ...keys, names, JSON.stringify(body));
    const [text, repeated] = (await answered('advance', call)) as [string, number?];
    if (!repeated) return answerOf(JSON.parse(text) as AnswerReply);
    const split = text.indexOf('\n');
    const kept = JSON.parse(text.slice(0, split)) as Question;
    return answerAgain(question, kept, answerOf(JSON.parse(text.slice(split + 1)) as AnswerReply));
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

/** Keys and body as advance.lua.ts takes them. */
function callOf(request: AdvanceRequest, question: Question): { keys: string[]; body: unknown } {
  const agent = new AgentKeys(request.tenantId, request.agentId);
  const seen = planSeen(request);
  const epochs = [...new Set(seen.map(({ epoch }) => epoch))];
  const repeatable = new Set(seen.map(({ event }) => event));
  return {
    keys: [
      agent.inbox(request.messageId),
      ...question.series.map((name) => agent.window(name)),
      ...request.cooldowns.map(({ ruleId, dryRun }) => agent.cooldown(ruleId, dryRun)),
      ...epochs.map((epoch) => agent.seen(epoch)),
    ],
    body: [
      request.cooldowns.length,
      LIFETIMES.inbox,
      LIFETIMES.seenEvents,
      seen.flatMap(({ event, epoch, fingerprint }) => [epochs.indexOf(epoch) + 1, event, fingerprint]),
      planSeries(request).map((planned) => specOf(planned, repeatable)),
    ],
  };
}

/** What only Redis can tell whether it counts goes there event by event; everything else is added up here. */
function specOf({ layout, nowEpoch, contributions }: PlannedSeries, repeatable: ReadonlySet<number>): unknown[] {
  const shape = SHAPES[layout.shape];
  const increments: (number | string)[] = [];
  const certain: Contribution[] = [];
  for (const contribution of contributions) {
    const { event, epoch, amount, atMs, value, bin } = contribution;
    if (!repeatable.has(event)) {
      certain.push(contribution);
      continue;
    }
    increments.push(event, epoch, amount.high, amount.low);
    if (shape > 0) increments.push(atMs, value, bin);
  }
  const sums = addedUp(certain).map(({ epoch, count, sum, min, max, last, bins }) => {
    const plain = [epoch, count, sum.high, sum.low];
    return shape === 0 ? plain : [...plain, min, max, last.atMs, last.value, Object.fromEntries(bins)];
  });
  return [layout.bucketMs === null ? 0 : 1, nowEpoch, layout.ttlMs, shape, shape > 0 ? 7 : 4, increments, sums];
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
