import { ByDestination } from './by-destination.ts';
import type { Destination } from './destination.ts';

/** An answer within this time is quick. */
const QUICK_MS = 500;
/** So many quick answers in a row earn a destination its share once more. */
const ROW = 16;
const MOST = 4;

/**
 * How many times its share of places each destination may take. A receiver that accepts one quickly after the other
 * earns more of them, step by step; at its first failure or slow answer it is back at its plain share.
 */
export class Paces {
  readonly #rows = new ByDestination<number>();

  /** 1 to 4. */
  readonly of = (destination: Destination): number => {
    return Math.min(MOST, 1 + Math.floor((this.#rows.get(destination) ?? 0) / ROW));
  };

  learn(destination: Destination, accepted: boolean, durationMs: number): void {
    const row = this.#rows.get(destination) ?? 0;
    if (accepted && durationMs < QUICK_MS) this.#rows.set(destination, Math.min(row + 1, ROW * MOST));
    else this.#rows.delete(destination);
  }
}
