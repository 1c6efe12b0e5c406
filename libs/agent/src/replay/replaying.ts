import { AgentError, type ErrorCode } from '../core/agent-error.ts';
import { type EffectKind, type Effects, liveEffects } from '../effects/effects.ts';
import { SeededSource } from '../effects/seeded-effects.ts';
import type { Cassette, CassetteEntry, RecordedError } from './cassette.ts';
import { firstDifference, type NumberedRequest, RequestNumbers } from './requests.ts';

/** Effects that answer from a recording, without side effects. */
export interface ReplayingEffects extends Effects {
  /** @throws AgentError `replay_mismatch` if a recorded entry was not requested */
  assertFinished(): void;
}

export function replayingEffects(cassette: Cassette): ReplayingEffects {
  return new CassetteEffects(cassette);
}

interface Waiter {
  readonly resolve: (entry: CassetteEntry) => void;
  readonly reject: (error: AgentError) => void;
}

/** Only the run itself advances a replay; after this time without progress it waits for something that never comes. */
const STUCK_MS = 5_000;

class CassetteEffects implements ReplayingEffects {
  readonly sequential = false;
  readonly inside = liveEffects();
  readonly replaying = true;
  readonly seed: number;
  readonly #entries: readonly CassetteEntry[];
  readonly #source: SeededSource;
  readonly #numbers = new RequestNumbers();
  readonly #places = new Map<string, number>();
  readonly #waiting = new Map<number, Waiter>();
  #next = 0;
  #nowMs: number;
  #pumping = false;
  #stuck: NodeJS.Timeout | undefined;

  constructor(cassette: Cassette) {
    const { seed, startAt, entries } = cassette;
    if (seed === undefined || startAt === undefined) throw new AgentError('invalid_config', 'the cassette is empty');
    this.seed = seed;
    this.#entries = entries;
    this.#source = new SeededSource({ seed, startAt });
    this.#nowMs = startAt;
    for (const [index, { kind, hash, occurrence, part }] of entries.entries())
      this.#places.set(placeOf({ kind, hash, occurrence }, part), index);
  }

  now(): number {
    return this.#nowMs;
  }

  newId(): string {
    return this.#source.newId();
  }

  random(): number {
    return this.#source.random();
  }

  async sleep(_ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
  }

  async perform<T>(kind: EffectKind, asked: unknown): Promise<T> {
    const entry = await this.#answer(this.#numbers.number(kind, asked), undefined);
    if (entry.error !== undefined) throw errorOf(entry.error);
    // The recorded answer has the type of this request.
    return entry.response as T;
  }

  async *stream<T>(kind: EffectKind, asked: unknown): AsyncIterable<T> {
    const request = this.#numbers.number(kind, asked);
    for (let part = 0; ; part++) {
      const entry = await this.#answer(request, part);
      if (entry.error !== undefined) throw errorOf(entry.error);
      if (entry.end === true) return;
      yield entry.response as T;
    }
  }

  assertFinished(): void {
    clearTimeout(this.#stuck);
    const left = this.#entries[this.#next];
    if (left === undefined) return;
    throw new AgentError(
      'replay_mismatch',
      `the run ended, but the recording goes on with entry ${left.n}, a ${left.kind}`,
      {
        info: { entry: left.n, kind: left.kind },
      },
    );
  }

  #answer(request: NumberedRequest, part: number | undefined): Promise<CassetteEntry> {
    const place = this.#places.get(placeOf(request, part));
    if (place === undefined || place < this.#next) return Promise.reject(this.#mismatch(request));
    return new Promise((resolve, reject) => {
      this.#waiting.set(place, { resolve, reject });
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#pumping) return;
    if (!this.#waiting.has(this.#next)) {
      this.#watch();
      return;
    }
    clearTimeout(this.#stuck);
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      const entry = this.#entries[this.#next];
      const waiter = this.#waiting.get(this.#next);
      if (entry === undefined || waiter === undefined) return;
      this.#waiting.delete(this.#next);
      this.#next += 1;
      this.#nowMs = entry.at;
      waiter.resolve(entry);
      if (this.#waiting.size > 0) this.#pump();
    });
  }

  #watch(): void {
    clearTimeout(this.#stuck);
    this.#stuck = setTimeout(() => {
      const missing = this.#entries[this.#next];
      const error = new AgentError(
        'replay_mismatch',
        `the recording goes on with entry ${missing?.n}, a ${missing?.kind}, which the run does not ask for`,
      );
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    }, STUCK_MS);
    this.#stuck.unref();
  }

  #mismatch({ kind, request }: NumberedRequest): AgentError {
    const next = this.#entries.slice(this.#next).find((entry) => entry.kind === kind && entry.request !== undefined);
    if (next === undefined)
      return new AgentError('replay_mismatch', `the run requested more ${kind} entries than were recorded`, {
        info: { kind },
      });
    const path = firstDifference(next.request, request) ?? '$';
    return new AgentError(
      'replay_mismatch',
      `the run differs from its recording at entry ${next.n}, a ${kind}, first at ${path}`,
      {
        info: { entry: next.n, kind, path },
      },
    );
  }
}

function placeOf(
  { kind, hash, occurrence }: Pick<CassetteEntry, 'kind' | 'hash' | 'occurrence'>,
  part: number | undefined,
): string {
  return `${kind} ${hash} ${occurrence} ${part ?? '-'}`;
}

function errorOf({ name, message, code, info }: RecordedError): Error {
  // Only codes of this package are recorded.
  if (code !== undefined) return new AgentError(code as ErrorCode, message, info === undefined ? {} : { info });
  return Object.assign(new Error(message), { name });
}
