import type { AdvanceRequest, SeriesShape } from '@agentlens/guardrails';
import { oncePer } from '@agentlens/guardrails/ports';
import { LIFETIMES } from '../lifetimes.ts';
import { type Layout, type PlannedSeries, planSeen, planSeries, type SeenEvent } from '../windows/plan.ts';
import type { WindowQuestion } from '../windows/question.ts';
import { numberOfBin, valuesText } from './bin-numbers.ts';
import { WindowKeys } from './keys.ts';

/** Codes of series shapes in the scripts. */
export const SHAPES: Record<SeriesShape, number> = { sum: 0, spread: 1, quantiles: 2 };

/** Rings that one agent's messages in a call need, in order of first use. */
class RingSet {
  readonly names: string[] = [];
  readonly layouts: Layout[] = [];
  readonly #places = new Map<string, number>();

  /** 1-based, as in Lua. */
  placeOf(name: string, layout: Layout): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const place = this.names.push(name);
    this.layouts.push(layout);
    this.#places.set(name, place);
    return place;
  }

  /** Name, shape, bucket width and TTL of each ring. */
  describe(): (string | number)[] {
    return this.layouts.flatMap(({ shape, bucketMs, ttlMs }, at) => [
      this.names[at] ?? '',
      SHAPES[shape],
      bucketMs ?? 0,
      ttlMs,
    ]);
  }
}

/** Distinct ring sets. Usually all agents of a tenant need the same rings. */
class RingSets {
  readonly list: RingSet[] = [];

  /** 1-based, as in Lua. */
  positionOf(set: RingSet): number {
    const known = this.list.findIndex(({ names }) => sameNames(names, set.names));
    return known < 0 ? this.list.push(set) : known + 1;
  }
}

/** The name determines the layout. */
function sameNames(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

type Item = number | string;

/** Strings in order of first use, with 1-based positions as in Lua. */
class Numbered {
  readonly keys: string[] = [];
  readonly #positions = new Map<string, number>();

  /** @param first called if the key is new */
  position(key: string, first?: () => void): number {
    const known = this.#positions.get(key);
    if (known !== undefined) return known;
    first?.();
    const position = this.keys.push(key);
    this.#positions.set(key, position);
    return position;
  }
}

interface AgentWork {
  readonly position: number;
  readonly rings: RingSet;
}

/** Keys and arguments of a call of lua/advance-windows.lua, which documents them. */
export interface AdvanceCall {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Per message, the number of new values of each quantile series, by index of the series. */
  readonly coming: readonly ReadonlyMap<number, number>[];
}

/** Builds the call for messages of agents of one tenant. Series and keys that several messages share are sent once. */
export function advanceCall(
  tenantId: string,
  messages: readonly AdvanceRequest[],
  questions: readonly WindowQuestion[],
): AdvanceCall {
  return new CallWriter(tenantId).call(messages, questions);
}

class CallWriter {
  readonly #keys: WindowKeys;
  readonly #agents = new Map<string, AgentWork>();
  readonly #totals = new Numbered();
  readonly #totalSpecs: Item[] = [];
  readonly #seenSets = new Numbered();
  readonly #cooldowns = new Numbered();
  readonly #work: Item[] = [];
  /** Encoded values that sums add to bins. */
  readonly #values: string[] = [];
  readonly #coming: ReadonlyMap<number, number>[] = [];

  constructor(tenantId: string) {
    this.#keys = new WindowKeys(tenantId);
  }

  call(messages: readonly AdvanceRequest[], questions: readonly WindowQuestion[]): AdvanceCall {
    for (const [at, request] of messages.entries()) {
      const { series = [], cooldowns = [] } = questions[at] ?? {};
      this.#message(request, series, cooldowns);
    }
    const sets = new RingSets();
    const setOfEach = Array.from(this.#agents.values(), ({ rings }) => sets.positionOf(rings));
    const counts = [messages.length, this.#totals.keys.length, sets.list.length, this.#agents.size];
    return {
      keys: [
        ...messages.map(({ agentId, messageId }) => this.#keys.inbox(agentId, messageId)),
        ...this.#totals.keys,
        ...[...this.#agents.keys()].flatMap((agentId) => [this.#keys.rings(agentId), this.#keys.cooldowns(agentId)]),
        ...this.#seenSets.keys,
      ],
      args: [
        JSON.stringify([
          ...[...counts, LIFETIMES.inbox, LIFETIMES.seenEvents, LIFETIMES.rings, this.#cooldowns.keys.length],
          ...this.#totalSpecs,
          ...sets.list.flatMap((set) => [set.names.length, ...set.describe()]),
          ...setOfEach,
          ...this.#work,
        ]),
        ...questions.map(({ series }) => JSON.stringify(series)),
        ...this.#cooldowns.keys,
        ...this.#values,
      ],
      coming: this.#coming,
    };
  }

  #message(request: AdvanceRequest, names: readonly string[], cooldowns: readonly string[]): void {
    const { agentId, nowMs } = request;
    const { position, rings } = this.#agent(agentId);
    const seen = planSeen(request);
    this.#work.push(position, nowMs, this.#cooldowns.position(jsonOf(cooldowns)), seen.length);
    for (const { event, epoch, fingerprint } of seen) {
      this.#work.push(this.#seenSets.position(this.#keys.seen(agentId, epoch)), event, fingerprint);
    }
    this.#work.push(names.length);
    const coming = new Map<number, number>();
    this.#coming.push(coming);
    planSeries(request, certainty(seen)).forEach((planned, index) => {
      this.#work.push(this.#place(agentId, rings, planned, names[index] ?? ''));
      if (planned.layout.shape === 'quantiles') {
        const values = valuesOf(planned);
        coming.set(index, values);
        this.#work.push(values);
      }
      this.#contributions(planned);
    });
  }

  #agent(agentId: string): AgentWork {
    const known = this.#agents.get(agentId);
    if (known !== undefined) return known;
    const made = { position: this.#agents.size + 1, rings: new RingSet() };
    this.#agents.set(agentId, made);
    return made;
  }

  /** Position of an agent's ring, or the negative position of a total. */
  #place(agentId: string, rings: RingSet, { layout }: PlannedSeries, name: string): number {
    if (layout.bucketMs !== null) return rings.placeOf(name, layout);
    const key = this.#keys.total(agentId, name);
    return -this.#totals.position(key, () => void this.#totalSpecs.push(SHAPES[layout.shape], layout.ttlMs));
  }

  #contributions({ layout, nowEpoch, contributions, certain }: PlannedSeries): void {
    const work = this.#work;
    const shape = SHAPES[layout.shape];
    if (contributions.length > 0) work.push(-contributions.length);
    work.push(certain.sums.length);
    for (const { event, epoch, amount, atMs, value, bin } of contributions) {
      work.push(event, nowEpoch - epoch, amount.high, amount.low);
      if (shape > 0) work.push(atMs, value);
      if (shape === 2) work.push(numberOfBin(bin ?? 0));
    }
    for (const { epoch, count, high, low, min, max, lastAtMs, last, bins } of certain.sums) {
      work.push(nowEpoch - epoch, count, high, low);
      if (shape > 0) work.push(min, max, lastAtMs, last);
      if (shape === 2) work.push(this.#values.push(valuesText(bins)));
    }
  }
}

/** Only Redis knows whether a retryable event counts. */
function certainty(seen: readonly SeenEvent[]): (event: number) => boolean {
  if (seen.length === 0) return () => true;
  const repeatable = new Set(seen.map(({ event }) => event));
  return (event) => !repeatable.has(event);
}

function valuesOf({ contributions, certain }: PlannedSeries): number {
  return certain.sums.reduce((values, { count }) => values + count, contributions.length);
}

/** Cached, because many questions share a list. */
const jsonOf = oncePer((names: readonly string[]) => JSON.stringify(names));
