import type {
  Breaker,
  BreakerAnswers,
  BreakerChange,
  BreakerQuestion,
  BreakerRef,
  BreakerStore,
  EventMark,
  StoredBreaker,
} from '@agentlens/guardrails';
import { CLOSED_BREAKER } from '@agentlens/guardrails/ports';
import { nanosOf, usdOf } from '../exact-numbers.ts';
import { LIFETIMES, SEEN_EPOCH_MS } from '../lifetimes.ts';
import { fingerprint } from '../windows/plan.ts';
import { answered, type RedisConnection } from './connection.ts';
import { askingKey, BreakerKeys } from './keys.ts';

type Fields = readonly (string | null)[];

/** Breakers shared by all evaluators. What belongs together is read in one call. */
export class RedisBreakerStore implements BreakerStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async read({ tenantId, agentId, refs, adding, events = [] }: BreakerQuestion): Promise<BreakerAnswers> {
    const names = new BreakerKeys(tenantId, agentId, refs);
    const { epochs, marks } = marked(events);
    const target = adding === undefined ? undefined : refs[adding.at];
    const keys = [
      ...refs.map((ref) => names.breaker(ref)),
      names.asked(target ?? { scope: 'agent', scopeId: agentId }),
      ...epochs.map((epoch) => names.counted(epoch)),
    ];
    const { tokens = 0, costUsd = 0, iterations = 0 } = adding?.usage ?? {};
    const reply = this.#redis.readBreakers(
      keys.length,
      ...keys,
      refs.length,
      adding === undefined || target === undefined ? 0 : adding.at + 1,
      target === undefined ? 0 : lifetimeOf(target),
      tokens,
      nanosOf(costUsd),
      iterations,
      adding?.once ?? '',
      JSON.stringify(marks.flatMap(({ set, event, mark }) => [set, event, mark])),
    );
    const answer = (await answered('readBreakers', reply)) as [...Fields[], number[]];
    return {
      breakers: answer.slice(0, refs.length).map((fields) => storedOf(fields as Fields)),
      counted: answer[refs.length] as number[],
    };
  }

  async write(
    tenantId: string,
    agentId: string,
    changes: readonly BreakerChange[],
    events: readonly EventMark[] = [],
  ): Promise<boolean> {
    const refs = changes.map(({ ref }) => ref);
    const names = new BreakerKeys(tenantId, agentId, refs);
    const { epochs, marks } = marked(events);
    const keys = [...refs.map((ref) => names.breaker(ref)), ...epochs.map((epoch) => names.counted(epoch))];
    const reply = this.#redis.writeBreakers(
      keys.length,
      ...keys,
      changes.length,
      LIFETIMES.seenEvents,
      JSON.stringify(marks.flatMap(({ set, mark }) => [set, mark])),
      ...changes.flatMap(({ ref, revision, version, breaker, forgetAsked }) => [
        revision,
        version,
        JSON.stringify(breaker),
        forgetAsked ? 1 : 0,
        lifetimeOf(ref),
      ]),
    );
    return (await answered('writeBreakers', reply)) === 1;
  }

  async recorded(tenantId: string, agentId: string, ref: BreakerRef, version: number): Promise<void> {
    const key = new BreakerKeys(tenantId, agentId, [ref]).breaker(ref);
    await answered('breakerRecorded', this.#redis.breakerRecorded(1, key, version));
  }

  async watch(tenantId: string): Promise<void> {
    await answered('watch', this.#redis.set(askingKey(tenantId), '1', 'PX', LIFETIMES.asking));
  }

  async watched(tenantId: string): Promise<boolean> {
    return (await answered('watched', this.#redis.exists(askingKey(tenantId)))) === 1;
  }
}

function lifetimeOf({ scope }: BreakerRef): number {
  return scope === 'agent' ? LIFETIMES.agentBreaker : LIFETIMES.run;
}

/** Assigns each event to its set of seen ids; sets are 1-based. */
function marked(events: readonly EventMark[]) {
  const epochs = [...new Set(events.map(({ atMs }) => Math.floor(atMs / SEEN_EPOCH_MS)))];
  const marks = events.map(({ id, atMs }, event) => ({
    set: epochs.indexOf(Math.floor(atMs / SEEN_EPOCH_MS)) + 1,
    event,
    mark: fingerprint(id),
  }));
  return { epochs, marks };
}

function storedOf([revision, version, recorded, breaker, tokens, cost, iterations]: Fields): StoredBreaker {
  return {
    breaker: breaker == null ? CLOSED_BREAKER : (JSON.parse(breaker) as Breaker),
    asked: { tokens: Number(tokens ?? 0), costUsd: usdOf(Number(cost ?? 0)), iterations: Number(iterations ?? 0) },
    revision: Number(revision ?? 0),
    version: Number(version ?? 0),
    recordedVersion: Number(recorded ?? 0),
  };
}
