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
