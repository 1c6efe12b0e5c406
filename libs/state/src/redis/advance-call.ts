import type { AdvanceRequest, SeriesShape } from '@agentlens/guardrails';
import { LIFETIMES } from '../lifetimes.ts';
import { addedUp } from '../windows/added-up.ts';
import type { Question } from '../windows/answer.ts';
import { type Contribution, type PlannedSeries, planSeen, planSeries } from '../windows/plan.ts';
import { WindowKeys } from './keys.ts';

/** Series shapes as the scripts know them. */
export const SHAPES: Record<SeriesShape, number> = { sum: 0, spread: 1, quantiles: 2 };

type Item = number | string;

/** Names in the order they were first needed; positions count from 1, as in Lua. */
class Numbered {
  readonly names: string[] = [];
  readonly #positions = new Map<string, number>();

  /** @param first told of a name that is new */
  position(name: string, first?: () => void): number {
    const known = this.#positions.get(name);
    if (known !== undefined) return known;
    first?.();
    const position = this.names.push(name);
    this.#positions.set(name, position);
    return position;
  }
}

interface AgentWork {
  readonly position: number;
  readonly series: Numbered;
  readonly rings: Item[];
}

/** Keys and work of one call of advance.lua.ts, which says what they are. */
export interface AdvanceCall {
  readonly keys: readonly string[];
  readonly work: readonly Item[];
}

/** For messages of agents of one tenant. What several of them count is touched once. */
export function advanceCall(
  tenantId: string,
  messages: readonly AdvanceRequest[],
  questions: readonly Question[],
): AdvanceCall {
  return new CallWriter(tenantId).call(messages, questions);
}

class CallWriter {
  readonly #keys: WindowKeys;
  readonly #agents = new Map<string, AgentWork>();
  readonly #totals = new Numbered();
  readonly #totalSpecs: Item[] = [];
  readonly #seenSets = new Numbered();
  readonly #work: Item[] = [];

  constructor(tenantId: string) {
    this.#keys = new WindowKeys(tenantId);
  }

  call(messages: readonly AdvanceRequest[], questions: readonly Question[]): AdvanceCall {
    for (const [at, request] of messages.entries()) this.#message(request, questions[at]?.series ?? []);
    const agents = [...this.#agents];
    const counts = [messages.length, this.#totals.names.length, agents.length];
    return {
      keys: [
        ...messages.map(({ agentId, messageId }) => this.#keys.inbox(agentId, messageId)),
        ...this.#totals.names,
        ...agents.flatMap(([agentId]) => [this.#keys.rings(agentId), this.#keys.cooldowns(agentId)]),
        ...this.#seenSets.names,
      ],
      work: [
        ...[...counts, LIFETIMES.inbox, LIFETIMES.seenEvents, LIFETIMES.rings],
        ...this.#totalSpecs,
        ...agents.flatMap(([, { rings, series }]) => [series.names.length, ...rings]),
        ...this.#work,
      ],
    };
  }

  #message(request: AdvanceRequest, names: readonly string[]): void {
    const { agentId } = request;
    const agent = this.#agent(agentId);
    const seen = planSeen(request);
    this.#work.push(agent.position, seen.length);
    for (const { event, epoch, fingerprint } of seen) {
      this.#work.push(this.#seenSets.position(this.#keys.seen(agentId, epoch)), event, fingerprint);
    }
    const repeatable = new Set(seen.map(({ event }) => event));
    this.#work.push(names.length);
    planSeries(request).forEach((planned, index) => {
      const place = this.#place(agentId, agent, planned, names[index] ?? '');
      this.#work.push(place, planned.nowEpoch);
      addContributions(this.#work, planned, repeatable);
    });
  }

  #agent(agentId: string): AgentWork {
    const known = this.#agents.get(agentId);
    if (known !== undefined) return known;
    const made = { position: this.#agents.size + 1, series: new Numbered(), rings: [] };
    this.#agents.set(agentId, made);
    return made;
  }

  /** Of an agent's ring its place; of a plain total its place below zero. */
  #place(agentId: string, { series, rings }: AgentWork, { layout }: PlannedSeries, name: string): number {
    const shape = SHAPES[layout.shape];
    if (layout.bucketMs !== null) return series.position(name, () => void rings.push(name, shape, layout.ttlMs));
    const key = this.#keys.total(agentId, name);
    return -this.#totals.position(key, () => void this.#totalSpecs.push(shape, layout.ttlMs));
  }
}

/** What only Redis can tell whether it counts goes there event by event; everything else is added up here. */
function addContributions(work: Item[], planned: PlannedSeries, repeatable: ReadonlySet<number>): void {
  const { layout, contributions } = planned;
  const uncertain = repeatable.size === 0 ? [] : contributions.filter(({ event }) => repeatable.has(event));
  const certain = repeatable.size === 0 ? contributions : contributions.filter(({ event }) => !repeatable.has(event));
  const sums = addedUp(certain);
  work.push(uncertain.length, sums.length);
  for (const contribution of uncertain) addIncrement(work, contribution, SHAPES[layout.shape]);
  for (const { epoch, count, sum, min, max, last, bins } of sums) {
    work.push(epoch, count, sum.high, sum.low);
    if (layout.shape !== 'sum') work.push(min, max, last.atMs, last.value);
    if (layout.shape === 'quantiles') work.push(bins.size, ...[...bins].flat());
  }
}

function addIncrement(work: Item[], { event, epoch, amount, atMs, value, bin }: Contribution, shape: number): void {
  work.push(event, epoch, amount.high, amount.low);
  if (shape > 0) work.push(atMs, value);
  if (shape === 2) work.push(bin);
}
