import type { AdvanceRequest, SeriesShape } from '@agentlens/guardrails';
import { LIFETIMES } from '../lifetimes.ts';
import { addedUp } from '../windows/added-up.ts';
import type { Question } from '../windows/answer.ts';
import { type Contribution, type PlannedSeries, planSeen, planSeries } from '../windows/plan.ts';
import { AgentKeys } from './keys.ts';

/** Series shapes as the scripts know them. */
export const SHAPES: Record<SeriesShape, number> = { sum: 0, spread: 1, quantiles: 2 };

/** `[is ring, ttl, shape, values per increment, parts]` */
type SeriesSpec = readonly [number, number, number, number, unknown[]];

/** Things by name, in the order they were first needed; positions count from 1, as in Lua. */
class Numbered<T> {
  readonly list: T[] = [];
  readonly #positions = new Map<string | number, number>();

  position(name: string | number, make: () => T): number {
    const known = this.#positions.get(name);
    if (known !== undefined) return known;
    const position = this.list.push(make());
    this.#positions.set(name, position);
    return position;
  }
}

/** Keys and body of one call of advance.lua.ts, for messages of one agent. Series they share are touched once. */
export function advanceCall(
  messages: readonly AdvanceRequest[],
  questions: readonly Question[],
): { readonly keys: string[]; readonly body: unknown } {
  const [first] = messages;
  if (first === undefined) return { keys: [], body: [] };
  const agent = new AgentKeys(first.tenantId, first.agentId);
  const series = new Numbered<{ readonly key: string; readonly spec: SeriesSpec }>();
  const cooldowns = new Numbered<string>();
  const seenSets = new Numbered<string>();
  const specs = messages.map((request, at) => {
    const seen = planSeen(request);
    const repeatable = new Set(seen.map(({ event }) => event));
    planSeries(request).forEach((planned, index) => {
      const name = questions[at]?.series[index] ?? '';
      const position = series.position(name, () => ({ key: agent.window(name), spec: specOf(planned) }));
      series.list[position - 1]?.spec[4].push(partOf(planned, at + 1, index + 1, repeatable));
    });
    return [
      seen.flatMap(({ event, epoch, fingerprint }) => [
        seenSets.position(epoch, () => agent.seen(epoch)),
        event,
        fingerprint,
      ]),
      request.cooldowns.map(({ ruleId, dryRun }, index) =>
        cooldowns.position(questions[at]?.cooldowns[index] ?? '', () => agent.cooldown(ruleId, dryRun)),
      ),
    ];
  });
  return {
    keys: [
      ...messages.map(({ messageId }) => agent.inbox(messageId)),
      ...series.list.map(({ key }) => key),
      ...cooldowns.list,
      ...seenSets.list,
    ],
    body: [LIFETIMES.inbox, LIFETIMES.seenEvents, specs, series.list.map(({ spec }) => spec), cooldowns.list.length],
  };
}

function specOf({ layout }: PlannedSeries): SeriesSpec {
  const shape = SHAPES[layout.shape];
  return [layout.bucketMs === null ? 0 : 1, layout.ttlMs, shape, shape > 0 ? 7 : 4, []];
}

/** What only Redis can tell whether it counts goes there event by event; everything else is added up here. */
function partOf(
  { layout, nowEpoch, contributions }: PlannedSeries,
  message: number,
  place: number,
  repeatable: ReadonlySet<number>,
): unknown[] {
  const plain = layout.shape === 'sum';
  const increments: (number | string)[] = [];
  const certain: Contribution[] = repeatable.size === 0 ? [...contributions] : [];
  if (repeatable.size > 0) {
    for (const contribution of contributions) {
      const { event, epoch, amount, atMs, value, bin } = contribution;
      if (!repeatable.has(event)) {
        certain.push(contribution);
        continue;
      }
      increments.push(event, epoch, amount.high, amount.low);
      if (!plain) increments.push(atMs, value, bin);
    }
  }
  const sums = addedUp(certain).map(({ epoch, count, sum, min, max, last, bins }) => {
    const counted = [epoch, count, sum.high, sum.low];
    return plain ? counted : [...counted, min, max, last.atMs, last.value, Object.fromEntries(bins)];
  });
  return [message, place, nowEpoch, increments, sums];
}
