import type { Destination } from './destination.ts';

const MAX_REMEMBERED = 10_000;

/** What is remembered of destinations, up to ten thousand of them: the one it was noted of longest ago is forgotten first. */
export class ByDestination<V> {
  readonly #kept = new Map<string, V>();

  get(destination: Destination): V | undefined {
    return this.#kept.get(destinationKey(destination));
  }

  set(destination: Destination, value: V): void {
    this.delete(destination);
    this.#kept.set(destinationKey(destination), value);
    if (this.#kept.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }

  delete(destination: Destination): void {
    this.#kept.delete(destinationKey(destination));
  }

  values(): Iterable<V> {
    return this.#kept.values();
  }
}

export function destinationKey({ tenantId, id }: Destination): string {
  return `${tenantId}:${id}`;
}
