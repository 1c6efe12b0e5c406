import { BoundedMap } from '@agentlens/state';

/** How exactly the last use of a key is told: enough to find the ones nobody uses. */
const TELL_EVERY_MS = 60_000;
const MOST_KEYS = 10_000;

/** Says when a use of a key is worth telling: the first one, and then at most once a minute per key. */
export class KeyUses {
  readonly #toldAtMs = new BoundedMap<number>(MOST_KEYS);

  isNews(keyId: string, nowMs: number): boolean {
    const toldAtMs = this.#toldAtMs.get(keyId);
    if (toldAtMs !== undefined && nowMs - toldAtMs < TELL_EVERY_MS) return false;
    this.#toldAtMs.set(keyId, nowMs);
    return true;
  }
}
