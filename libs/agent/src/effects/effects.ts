export type EffectKind = 'model' | 'tool' | 'answer' | 'guard' | 'memory';

/**
 * Everything an agent gets from outside: the clock, ids, chance, and what models, tools, humans, the platform and
 * stores answer. Recording, replaying and seeding are adapters of this port, so that no other code knows of them.
 */
export interface Effects {
  /** Unix ms. */
  now(): number;
  newId(): string;
  /** In [0, 1). */
  random(): number;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** `request` is what makes the effect the same when it is asked for again; it and the answer must be JSON. */
  perform<T>(kind: EffectKind, request: unknown, run: () => Promise<T>): Promise<T>;
  stream<T>(kind: EffectKind, request: unknown, run: () => AsyncIterable<T>): AsyncIterable<T>;
  /** Set when ids and chance come from a seed. */
  readonly seed?: number;
  /** Calls of one step run one after another, so that their order is the same every time. */
  readonly sequential: boolean;
  /** What code inside of a performed effect uses: in a recording it is not part of the run. */
  readonly inside: Effects;
  /** Answers come from a recording: nothing outside may be touched. */
  readonly replaying: boolean;
}
