import type { Destination } from '../destinations/destination.ts';

/** An answer within this time is quick. */
const QUICK_MS = 500;
/** So many quick answers in a row earn a destination its share once more. */
const ROW = 16;
const MOST = 4;
/** The rows of those that were called longest ago are forgotten first: they merely start anew. */
const MAX_REMEMBERED = 10_000;

/**
 * How many times its share of places each destination may take. A receiver that accepts one quickly after the other
 * earns more of them, step by step; at its first failure or slow answer it is back at its plain share.
 */
export class Paces {
  readonly #rows = new Map<string, number>();

  /** 1 to 4. */
  readonly of = (destination: Destination): number => {
    const row = this.#rows.get(keyOf(destination)) ?? 0;
    return Math.min(MOST, 1 + Math.floor(row / ROW));
  };

  learn(destination: Destination, accepted: boolean, durationMs: number): void {
    const key = keyOf(destination);
    const row = this.#rows.get(key) ?? 0;
    this.#rows.delete(key);
    if (!accepted || durationMs >= QUICK_MS) return;
    this.#rows.set(key, Math.min(row + 1, ROW * MOST));
    if (this.#rows.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#rows.keys()) {
      this.#rows.delete(oldest);
      return;
    }
  }
}

function keyOf({ tenantId, id }: Destination): string {
  return `${tenantId}:${id}`;
}
