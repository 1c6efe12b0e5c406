import { admit, CLOSED, type DestinationAdmission, type DestinationBreaker, learn } from './breaker.ts';
import { ByDestination } from './by-destination.ts';
import type { Destination } from './destination.ts';

/**
 * The breakers of every destination this process calls. Kept in memory on purpose: a replica that starts anew finds out
 * within a few calls, and there is no shared state that could be wrong for all of them.
 */
export class DestinationBreakers {
  /** Healthy destinations take no place; one that is forgotten merely costs a probe. */
  readonly #breakers = new ByDestination<DestinationBreaker>();

  admit(destination: Destination, nowMs: number): DestinationAdmission {
    const answer = admit(this.#of(destination), nowMs);
    this.#keep(destination, answer.breaker);
    return answer.admission;
  }

  learn(destination: Destination, health: 'up' | 'down', nowMs: number): void {
    this.#keep(destination, learn(this.#of(destination), health, nowMs));
  }

  /** Somebody says it is well again. */
  reset(destination: Destination): void {
    this.#breakers.delete(destination);
  }

  get unwell(): number {
    let count = 0;
    for (const breaker of this.#breakers.values()) if (breaker.state !== 'closed') count += 1;
    return count;
  }

  #of(destination: Destination): DestinationBreaker {
    return this.#breakers.get(destination) ?? CLOSED;
  }

  #keep(destination: Destination, breaker: DestinationBreaker): void {
    if (breaker.state === 'closed' && breaker.failures === 0) this.#breakers.delete(destination);
    else this.#breakers.set(destination, breaker);
  }
}
