import { isAgentError, messageOf } from '../core/agent-error.ts';
import { redactStored } from '../core/redact.ts';
import { abortableSleep, type EffectKind, type Effects, liveEffects } from '../effects/effects.ts';
import { SeededSource } from '../effects/seeded-effects.ts';
import type { Cassette, CassetteEntry, RecordedError } from './cassette.ts';
import { type NumberedRequest, RequestNumbers, storable } from './requests.ts';

export interface RecordingOptions {
  readonly seed?: number;
  readonly startAt?: string;
}

type Outcome = Pick<CassetteEntry, 'response' | 'error' | 'end' | 'part'>;

/**
 * Effects that record external input. Answers reach the run one per event-loop turn, in recorded order, and the run's
 * clock advances only with them, so that a replay can do exactly the same.
 */
export function recordingEffects(cassette: Cassette, options: RecordingOptions = {}): Effects {
  return new RecordingEffects(cassette, options);
}

class RecordingEffects implements Effects {
  readonly sequential = false;
  readonly inside = liveEffects();
  readonly replaying = false;
  readonly seed: number;
  readonly #cassette: Cassette;
  readonly #source: SeededSource;
  readonly #numbers = new RequestNumbers();
  readonly #waiting: (() => void)[] = [];
  #nowMs: number;
  #pumping = false;

  constructor(cassette: Cassette, { seed, startAt }: RecordingOptions) {
    this.#cassette = cassette;
    this.seed = cassette.seed ?? seed ?? Math.floor(Math.random() * 2 ** 31);
    this.#source = new SeededSource({ seed: this.seed, startAt: cassette.startAt ?? startAt ?? Date.now() });
    this.#nowMs = this.#source.startMs;
    cassette.seed = this.seed;
    cassette.startAt = this.#nowMs;
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

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return abortableSleep(ms, signal);
  }

  async perform<T>(kind: EffectKind, asked: unknown, run: () => Promise<T>): Promise<T> {
    const request = this.#numbers.number(kind, asked);
    try {
      const response = await run();
      await this.#keep(request, { response: storable(response) });
      return response;
    } catch (error) {
      await this.#keep(request, { error: recordedError(error) });
      throw error;
    }
  }

  async *stream<T>(kind: EffectKind, asked: unknown, run: () => AsyncIterable<T>): AsyncIterable<T> {
    const request = this.#numbers.number(kind, asked);
    let part = 0;
    try {
      for await (const piece of run()) {
        await this.#keep(request, { part, response: storable(piece) });
        part += 1;
        yield piece;
      }
    } catch (error) {
      await this.#keep(request, { part, error: recordedError(error) });
      throw error;
    }
    await this.#keep(request, { part, end: true });
  }

  #keep({ kind, request, hash, occurrence }: NumberedRequest, outcome: Outcome): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        this.#nowMs = Math.max(this.#nowMs, Date.now());
        const first = (outcome.part ?? 0) === 0;
        this.#cassette.entries.push({
          n: this.#cassette.entries.length + 1,
          ...{ kind, hash, occurrence, at: this.#nowMs },
          ...(first ? { request } : {}),
          ...outcome,
        });
        resolve();
      });
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#pump();
    });
  }
}

function recordedError(error: unknown): RecordedError {
  const name = error instanceof Error ? error.name : 'Error';
  const base = { name, message: redactStored(messageOf(error)) };
  if (!isAgentError(error)) return base;
  return { ...base, code: error.code, ...(error.info === undefined ? {} : { info: storable(error.info) }) };
}
