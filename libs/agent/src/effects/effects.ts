import { uuidv7 } from 'uuidv7';

export type EffectKind = 'model' | 'tool' | 'answer' | 'guard' | 'memory';

/**
 * All external input of an agent: the clock, ids, randomness, and the answers of models, tools, humans, the platform
 * and stores. Recording, replaying and seeding are adapters of this port; no other code depends on them.
 */
export interface Effects {
  /** Unix ms. */
  now(): number;
  newId(): string;
  /** In [0, 1). */
  random(): number;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** `request` identifies the effect when it is requested again. Request and answer must be JSON. */
  perform<T>(kind: EffectKind, request: unknown, run: () => Promise<T>): Promise<T>;
  stream<T>(kind: EffectKind, request: unknown, run: () => AsyncIterable<T>): AsyncIterable<T>;
  /** Set if ids and randomness come from a seed. */
  readonly seed?: number;
  /** Calls of one step run sequentially, so that their order is deterministic. */
  readonly sequential: boolean;
  /** Effects for code inside a performed effect, which a recording does not contain. */
  readonly inside: Effects;
  /** Answers come from a recording; no side effects are allowed. */
  readonly replaying: boolean;
}

/** The machine's clock, ids and randomness; everything else passes through. */
export function liveEffects(): Effects {
  return LIVE;
}

const LIVE: Effects = {
  now: () => Date.now(),
  newId: () => uuidv7(),
  random: () => Math.random(),
  sleep: abortableSleep,
  perform: (_kind, _request, run) => run(),
  stream: (_kind, _request, run) => run(),
  sequential: false,
  replaying: false,
  get inside() {
    return LIVE;
  },
};

/** A timer that ends with the signal. Rejects with the signal's reason. */
export function abortableSleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    signal?.addEventListener('abort', aborted, { once: true });
  });
}
