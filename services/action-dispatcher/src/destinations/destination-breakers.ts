import { type Admission, admit, type Breaker, CLOSED, learn } from './breaker.ts';
import type { Destination } from './destination.ts';

/** Healthy destinations take no place; of the unwell ones the oldest are forgotten first, which merely costs a probe. */
const MAX_REMEMBERED = 10_000;

/**
 * The breakers of every destination this process calls. Kept in memory on purpose: a replica that starts anew finds out
 * within a few calls, and there is no shared state that could be wrong for all of them.
 */
export class DestinationBreakers {
  readonly #breakers = new Map<string, Breaker>();

  admit(destination: Destination, nowMs: number): Admission {
    const answer = admit(this.#of(destination), nowMs);
    this.#keep(destination, answer.breaker);
    return answer.admission;
  }

  learn(destination: Destination, health: 'up' | 'down', nowMs: number): void {
    this.#keep(destination, learn(this.#of(destination), health, nowMs));
  }

  /** Somebody says it is well again. */
  reset(destination: Destination): void {
    this.#breakers.delete(keyOf(destination));
  }

  get unwell(): number {
    let count = 0;
    for (const breaker of this.#breakers.values()) if (breaker.state !== 'closed') count += 1;
    return count;
  }

  #of(destination: Destination): Breaker {
    return this.#breakers.get(keyOf(destination)) ?? CLOSED;
  }

  #keep(destination: Destination, breaker: Breaker): void {
    const key = keyOf(destination);
    this.#breakers.delete(key);
    if (breaker.state === 'closed' && breaker.failures === 0) return;
    this.#breakers.set(key, breaker);
    if (this.#breakers.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#breakers.keys()) {
      this.#breakers.delete(oldest);
      return;
    }
  }
}

function keyOf({ tenantId, id }: Destination): string {
  return `${tenantId}:${id}`;
}
