import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { Effects } from './effects.ts';

export interface SeedOptions {
  readonly seed: number;
  /** Unix ms or an ISO instant. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: number | string;
}

/** Ids and randomness from one seed: the same run requests them in the same order. */
export class SeededSource {
  readonly seed: number;
  readonly startMs: number;
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  constructor({ seed, startAt = '2026-01-01T00:00:00.000Z' }: SeedOptions) {
    this.seed = seed;
    this.startMs = typeof startAt === 'number' ? startAt : Date.parse(startAt);
    if (Number.isNaN(this.startMs)) throw new RangeError(`startAt is not a valid instant: ${startAt}`);
    this.#generator = xoroshiro128plus(seed);
  }

  random(): number {
    return uniformFloat64(this.#generator);
  }

  /** Looks like a UUID but contains no time. */
  newId(): string {
    const hex = (digits: number) =>
      Array.from({ length: digits }, () => Math.floor(this.random() * 16).toString(16)).join('');
    return `${hex(8)}-${hex(4)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
  }
}

/**
 * The clock starts at a fixed instant and advances 1 ms with each effect, nothing waits, and calls of one step run
 * sequentially: the same script gives the same bytes.
 */
export function seededEffects(options: SeedOptions): Effects {
  const source = new SeededSource(options);
  let nowMs = source.startMs;
  const effects: Effects = {
    seed: source.seed,
    sequential: true,
    replaying: false,
    now: () => nowMs,
    newId: () => source.newId(),
    random: () => source.random(),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      nowMs += ms;
    },
    perform: async (_kind, _request, run) => {
      nowMs += 1;
      return run();
    },
    stream: (_kind, _request, run) => {
      nowMs += 1;
      return run();
    },
    get inside() {
      return effects;
    },
  };
  return effects;
}
