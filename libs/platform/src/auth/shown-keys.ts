import { apiKeyHash, apiKeyIdOf } from './api-key.ts';

/** Few: they are secrets, and this keeps them in memory. */
const MOST_KEYS = 1_000;

/** What a complete key says of itself. */
interface ShownKey {
  readonly keyId: string;
  readonly hash: Uint8Array;
}

/**
 * Reads keys. A client shows the same one with every request, and its checksum and hash come out the same every time, so
 * they are worked out once. Whether it is anybody's key is not decided here, and nothing of that is remembered.
 */
export class ShownKeys {
  readonly #known = new Map<string, ShownKey>();

  /** Null where the text is no complete key. */
  read(key: string): ShownKey | null {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const keyId = apiKeyIdOf(key);
    if (keyId === null) return null;
    const shown = { keyId, hash: apiKeyHash(key) };
    if (this.#known.size >= MOST_KEYS) this.#known.clear();
    this.#known.set(key, shown);
    return shown;
  }
}
