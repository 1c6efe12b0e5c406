import type { ClaimedDelivery } from './claimed-delivery.ts';

interface Waiting {
  readonly delivery: ClaimedDelivery;
  readonly sinceMs: number;
}

/** Deliveries this process holds and has no place for yet. Destinations take turns; each is served in order. */
export class WaitingLine {
  readonly #lines = new Map<string, Waiting[]>();

  add(delivery: ClaimedDelivery, nowMs: number): void {
    const key = lineOf(delivery);
    const line = this.#lines.get(key);
    const waiting = { delivery, sinceMs: nowMs };
    if (line === undefined) this.#lines.set(key, [waiting]);
    else line.push(waiting);
  }

  /** The next one that `take` gives a place to. */
  next(take: (delivery: ClaimedDelivery) => boolean): ClaimedDelivery | undefined {
    for (const [key, line] of this.#lines) {
      const [first] = line;
      if (first === undefined || !take(first.delivery)) continue;
      line.shift();
      this.#lines.delete(key);
      if (line.length > 0) this.#lines.set(key, line);
      return first.delivery;
    }
    return undefined;
  }

  /** Takes out those who have waited since before then, or all. */
  leaveSince(beforeMs = Number.POSITIVE_INFINITY): ClaimedDelivery[] {
    return this.#remove(({ sinceMs }) => sinceMs < beforeMs);
  }

  /** Takes out those who wait for the same destination. */
  leaveWith(delivery: ClaimedDelivery): ClaimedDelivery[] {
    const key = lineOf(delivery);
    return this.#remove((waiting) => lineOf(waiting.delivery) === key);
  }

  #remove(leaves: (waiting: Waiting) => boolean): ClaimedDelivery[] {
    const gone: ClaimedDelivery[] = [];
    for (const [key, line] of this.#lines) {
      const left = line.filter((waiting) => !leaves(waiting));
      if (left.length === line.length) continue;
      gone.push(...line.filter(leaves).map(({ delivery }) => delivery));
      if (left.length === 0) this.#lines.delete(key);
      else this.#lines.set(key, left);
    }
    return gone;
  }
}

function lineOf({ tenantId, destination }: ClaimedDelivery): string {
  return `${tenantId}:${destination?.id ?? ''}`;
}
